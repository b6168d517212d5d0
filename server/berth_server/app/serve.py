"""Runs the server: start in order, serve, stop in order.

Shutdown: health says NOT_SERVING, no key is taken any more, binds in flight end, then the listeners close. A second
signal ends the process at once.
"""

import asyncio
import os
import signal
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any, Final

import structlog

from berth_server.app.console import Console
from berth_server.app.wiring import Parts, StartError, build_parts
from berth_server.config.file import Config
from berth_server.config.settings import Settings
from berth_server.driver.loop import Driver
from berth_server.kube.documents import ManifestError
from berth_server.observability.exposition import ExpositionError, serve_metrics
from berth_server.observability.logging import configure_logging
from berth_server.rpc.listeners import ListenError
from berth_server.rpc.server import RpcServer, build_server

GRACE_SECONDS: Final = 25.0
"""Within the 30 s that Kubernetes gives a Pod by default."""
SECOND_SIGNAL_EXIT: Final = 130


def serve(settings: Settings, config: Config) -> None:
    """Serve until SIGINT or SIGTERM. Raises StartError with what the operator can mend."""
    configure_logging(settings.log_format)
    log = structlog.get_logger()
    try:
        asyncio.run(_serve(settings, config, log))
    except (ListenError, ManifestError, ExpositionError) as error:
        raise StartError(str(error)) from None


async def _serve(settings: Settings, config: Config, log: Any) -> None:
    stopping = _listen_for_signals()
    async with AsyncExitStack() as stack:
        parts = build_parts(settings, config, log)
        server = build_server(
            settings.listen,
            parts.service,
            parts.service.inspector,
            parts.metrics,
            reflection_enabled=settings.reflection,
        )
        if settings.metrics_listen is not None:
            endpoint = serve_metrics(parts.registry, settings.metrics_listen.host, settings.metrics_listen.port)
            stack.callback(endpoint.close)
        await server.start()
        await parts.service.start()
        await server.set_synced(synced=True)
        await server.set_writer(writer=settings.role == "scheduler")
        log.info("serving", listen=[str(address) for address in server.addresses], cluster=parts.origin)
        await _run_until(stopping, settings, parts, server, log)


async def _run_until(stopping: asyncio.Event, settings: Settings, parts: Parts, server: RpcServer, log: Any) -> None:
    console = Console(parts, server.addresses) if settings.show else None
    background = [_supervised("time", parts.service.work.keep_time(), log)]
    if parts.play is not None:
        background.append(_supervised("play", parts.play.run(), log))
    driver = Driver(parts.service, log) if settings.driver == "in-process" else None
    driving = _supervised("driver", driver.run(), log) if driver is not None else None
    showing = _supervised("console", console.run(driven=driver is not None), log) if console is not None else None
    await stopping.wait()
    log.info("stopping")
    await _cancel([task for task in (driving, showing) if task is not None])
    closing = asyncio.create_task(server.stop(GRACE_SECONDS))
    if driver is not None:
        await driver.settle()
    await parts.service.drain()
    await closing
    await _cancel(background)
    await parts.service.stop()
    log.info("stopped")


def _supervised(name: str, work: Coroutine[Any, Any, None], log: Any) -> asyncio.Task[None]:
    """Run for ever; if that ends by a bug, say so and end the process in order rather than live on half."""

    def over(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            log.error("a part of the server failed", part=name, exc_info=task.exception())
            os.kill(os.getpid(), signal.SIGTERM)

    task = asyncio.create_task(work, name=name)
    task.add_done_callback(over)
    return task


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _listen_for_signals() -> asyncio.Event:
    stopping = asyncio.Event()

    def stop() -> None:
        if stopping.is_set():
            os._exit(SECOND_SIGNAL_EXIT)
        stopping.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    return stopping
