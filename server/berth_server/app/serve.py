"""Runs the server: start in order, serve, stop in order.

Shutdown: health says NOT_SERVING, no key is taken any more, binds in flight end, then the listeners close. A second
signal ends the process at once, and so does the first one before there is a server.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from contextlib import AsyncExitStack, ExitStack
from typing import Any, Final

import structlog
import uvloop

from berth_server.app.console import Console
from berth_server.app.wiring import Parts, StartError, build_parts
from berth_server.config.file import Config
from berth_server.config.settings import Settings
from berth_server.driver.loop import Driver
from berth_server.kube.credentials import CredentialsError
from berth_server.kube.documents import ManifestError
from berth_server.observability.collector import reading_much
from berth_server.observability.exposition import ExpositionError, serve_metrics
from berth_server.observability.logging import configure_logging
from berth_server.rpc.listeners import ListenError
from berth_server.rpc.server import RpcServer, build_server

GRACE_SECONDS: Final = 25.0
"""Within the 30 s that Kubernetes gives a Pod by default."""
SECOND_SIGNAL_EXIT: Final = 130


class _Stopping(asyncio.Event):
    """Set when the server is to end. `failed`: because a part of it did, not because it was told to."""

    failed = False


def serve(settings: Settings, config: Config) -> None:
    """Serve until SIGINT or SIGTERM. Raises StartError with what the operator can mend."""
    configure_logging(settings.log_format)
    log = structlog.get_logger()
    try:
        stopping = uvloop.run(_serve(settings, config, log))
    except (CredentialsError, ListenError, ManifestError, ExpositionError) as error:
        raise StartError(str(error)) from None
    if stopping.failed:
        sys.exit(1)


async def _serve(settings: Settings, config: Config, log: Any) -> _Stopping:
    async with AsyncExitStack() as stack:
        reading = stack.enter_context(ExitStack())
        reading.enter_context(reading_much())
        parts = build_parts(settings, config, log)
        server = build_server(
            settings.listen,
            parts.service,
            parts.service.inspector,
            parts.metrics,
            reflection_enabled=settings.reflection,
            tracer=parts.tracer,
        )
        if settings.metrics_listen is not None:
            endpoint = serve_metrics(parts.registry, settings.metrics_listen.host, settings.metrics_listen.port)
            stack.callback(endpoint.close)
        if parts.tracer is not None:
            configure_logging(settings.log_format, trace_id=parts.tracer.trace_id)
            stack.callback(parts.tracer.close)
        if parts.connection is not None:
            await stack.enter_async_context(parts.connection)
        stopping = _listen_for_signals()
        await server.start()
        stack.push_async_callback(parts.service.stop)
        if not await _done_before(stopping, parts.service.start()):
            await server.stop(0)
            return stopping
        reading.close()
        await server.set_synced(synced=True)
        await server.set_writer(writer=settings.role == "scheduler")
        # The console tells the origin itself, in lines that are not as wide.
        origin = {} if settings.show else {"cluster": parts.origin}
        log.info("serving", listen=[str(address) for address in server.addresses], **origin)
        await _run_until(stopping, settings, parts, server, log)
    log.info("stopped")
    return stopping


async def _run_until(stopping: _Stopping, settings: Settings, parts: Parts, server: RpcServer, log: Any) -> None:
    def supervised(name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return _supervised(name, work, stopping, log)

    background = [supervised(name, begin()) for name, begin in parts.background.items()]
    driver = Driver(parts.service, log) if settings.driver == "in-process" else None
    ended_first = [] if driver is None else [supervised("driver", driver.run())]
    if settings.show:
        console = Console(parts, server.addresses)
        ended_first.append(supervised("console", console.run(driven=driver is not None)))
    await stopping.wait()
    log.info("stopping")
    await _cancel(ended_first)
    closing = asyncio.create_task(_close(server))
    if driver is not None:
        await driver.settle()
    await parts.service.drain()
    await closing
    await _cancel(background)


async def _close(server: RpcServer) -> None:
    await server.drain()
    await server.stop(GRACE_SECONDS)


async def _done_before(stopping: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """Do the work, unless the server is told to end first; then return False. Raises what the work raises."""
    working, waiting = asyncio.create_task(work), asyncio.create_task(stopping.wait())
    await asyncio.wait((working, waiting), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if working.done():
        working.result()
        return True
    await _cancel([working])
    return False


def _supervised(name: str, work: Coroutine[Any, Any, None], stopping: _Stopping, log: Any) -> asyncio.Task[None]:
    """Run for ever; if that ends by a bug, say so and end the process in order rather than live on half."""

    def over(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            log.error("a part of the server failed", part=name, exc_info=task.exception())
            stopping.failed = True
            stopping.set()

    task = asyncio.create_task(work, name=name)
    task.add_done_callback(over)
    return task


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _listen_for_signals() -> _Stopping:
    stopping = _Stopping()

    def stop() -> None:
        if stopping.is_set():
            os._exit(SECOND_SIGNAL_EXIT)
        stopping.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    return stopping
