"""Berth, whole and in this process, on a real API server: what `berth-server serve` wires, without its gRPC server."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from berth_server.app.wiring import Parts, build_parts
from berth_server.config.file import Config
from berth_server.config.settings import Settings
from berth_server.driver.loop import Driver
from berth_server.observability.collector import reading_much
from berth_server.placement import gauges
from tests.fakes.log import NullLog

PATIENCE = 60.0
"""Seconds after which a test that waits for something has failed; never waited for otherwise."""


class Berth:
    """A running Berth, and its numbers."""

    def __init__(self, parts: Parts, driver: Driver, log: NullLog) -> None:
        self.parts = parts
        self.service = parts.service
        self.core = parts.service.core
        self.driver = driver
        self.log = log

    def metric(self, name: str, **labels: str) -> float:
        """Return the value of a series as Prometheus would scrape it after the next refresh."""
        gauges.refresh(self.core, self.service.work)
        return self._sample(name, **labels)

    def _sample(self, name: str, **labels: str) -> float:
        return self.parts.registry.get_sample_value(name, labels) or 0.0

    @property
    def scheduled(self) -> int:
        """How many assignments are counted."""
        return int(self._sample("kruntimes_scheduler_sync_total", result="scheduled"))

    async def quiet(self) -> None:
        """Wait until nothing is to be tried at once, and nothing is on its way."""

        def rests() -> bool:
            counts = self.service.work.counts()
            return not counts["active"] and not counts["in_flight"] and not len(self.core.reservations)

        await until(rests, "Berth rests")


@asynccontextmanager
async def built(kubeconfig: Path, **settings: Any) -> AsyncIterator[Berth]:
    """Build Berth and connect it; nothing is started."""
    log = NullLog()
    parts = build_parts(Settings(kubeconfig=str(kubeconfig), **settings), Config(), log)
    assert parts.connection is not None
    async with parts.connection:
        yield Berth(parts, Driver(parts.service, log), log)


@asynccontextmanager
async def serving(kubeconfig: Path, *, driven: bool = True, **settings: Any) -> AsyncIterator[Berth]:
    """Start Berth, and its driver; stop it in the order in which the server does."""
    async with built(kubeconfig, **settings) as berth:
        with reading_much():
            async with asyncio.timeout(PATIENCE):
                await berth.service.start()
        tasks = [asyncio.create_task(begin(), name=name) for name, begin in berth.parts.background.items()]
        driving = asyncio.create_task(berth.driver.run(), name="driver") if driven else None
        try:
            yield berth
        finally:
            parts = {*tasks, *([driving] if driving else [])}
            for task in parts:
                task.cancel()
            _, deaf = await asyncio.wait(parts, timeout=PATIENCE)
            assert not deaf, f"parts of Berth that do not end: {deaf}"
            await berth.service.stop()
            gc.unfreeze()
        failed = [task.exception() for task in parts if not task.cancelled()]
        assert not failed, f"a part of Berth failed: {failed}"


async def until(condition: Callable[[], bool], what: str, *, patience: float = PATIENCE) -> None:
    """Look until it is so."""
    try:
        async with asyncio.timeout(patience):
            while not condition():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"waited in vain until {what}") from None
