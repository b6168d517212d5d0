"""The driver in process on the embedded store: placements a second from popped to bound, watch echo included."""

import asyncio
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry

from benchmarks.measure import Figure
from benchmarks.worlds import STAMP, pods, runs
from berth_server.driver.loop import Driver
from berth_server.framework.engine import Engine
from berth_server.framework.profile import build
from berth_server.kube.embedded import EmbeddedStore
from berth_server.kube.writer import StatusWriter
from berth_server.objects.clock import SystemClock
from berth_server.objects.decode import version_of
from berth_server.observability.metrics import Metrics
from berth_server.placement.ports import ObjectRef, Outgoing
from berth_server.placement.service import PlacementService, Surroundings
from berth_server.placement.translate import micros
from berth_server.plugins import REGISTRY

PODS, RUNS = 100, 5_000
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class _Silent:
    """A log that nobody reads."""

    def warning(self, event: str, **values: object) -> None:
        """See Log."""

    exception = warning


def driving() -> Iterator[Figure]:
    """Yield all figures of this module."""
    bare = asyncio.run(_bare_writes())
    yield Figure("status writes alone, embedded store", bare, f"{bare:,.0f}/s")
    placed = asyncio.run(_placements())
    yield Figure("driver in process, placements", placed, f"{placed:,.0f}/s")


def service_of(store: EmbeddedStore, *, standing: bool = True) -> PlacementService:
    """Return placement over `store`, as the server wires it; `standing`: heartbeats do not expire."""
    engine = Engine(build("default", (), REGISTRY))
    metrics = Metrics(CollectorRegistry(), rejections=engine.profile.reasons)
    return PlacementService(
        Surroundings(
            store=store,
            writer=StatusWriter(store, lambda: NOW),
            engines={"default": engine},
            clock=SystemClock(),
            metrics=metrics,
            log=_Silent(),
            jitter=lambda: 0.0,
            instance="bench",
            standing_at=micros(STAMP) if standing else None,
        )
    )


async def _bare_writes() -> float:
    """The same status writes with nobody deciding and nobody watching."""
    store = EmbeddedStore(history=4 * RUNS)
    store.load(runs(RUNS))
    pages = [page async for page in store.list("Run")]
    writer = StatusWriter(store, lambda: NOW)
    starts = [
        Outgoing(ObjectRef("Run", "bench", run.metadata.name, run.metadata.uid), version_of(run), b"")
        for page in pages
        for run in page.resources
    ]
    start = time.perf_counter()
    for each in starts:
        await writer.assign(each, "python-00000", "pod-0")
    return RUNS / (time.perf_counter() - start)


async def _placements() -> float:
    store = EmbeddedStore(history=4 * RUNS)
    store.load([*pods(PODS), *runs(RUNS)])
    service = service_of(store)
    await service.start()
    driver = Driver(service, _Silent())
    start = time.perf_counter()
    taken = 0
    while taken < RUNS:
        taken += await driver.step(wait=1.0)
    await driver.settle()
    while len(service.core.reservations):  # noqa: ASYNC110 -- measures until the last echo, nothing to wait on
        await asyncio.sleep(0)
    took = time.perf_counter() - start
    await service.stop()
    return RUNS / took
