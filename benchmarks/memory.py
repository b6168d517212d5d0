"""What the state of a large cluster costs in memory, and how long it takes to read it for the first time and again.

Measured in a process of its own: the ingest follows a store that gives pages as an API server does, as bytes that an
informer decodes.
"""

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from itertools import islice
from typing import IO, Any, cast

import uvloop

from benchmarks.driving import service_of
from benchmarks.measure import Figure
from benchmarks.worlds import Json, pods, runs
from berth_server.kube.embedded import EmbeddedStore
from berth_server.kube.informer import PAGE, page_of
from berth_server.objects.decode import decode
from berth_server.observability.collector import reading_much
from berth_server.placement.ports import Listing, WatchEvent

RUNS, PODS = 100_000, 10_000


def memory() -> Iterator[Figure]:
    """Yield all figures of this module."""
    command = [sys.executable, "-m", "benchmarks.memory"]
    result = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 -- our own module
    measured = json.loads(result.stdout)
    size, seconds, again = measured["mib"], measured["seconds"], measured["again"]
    yield Figure("memory, 100,000 Runs and 10,000 Runtime Pods", size, f"{size:,.0f} MiB")
    yield Figure("first read of that, decoding included", seconds, f"{seconds:.1f} s")
    yield Figure("the same again, nothing changed", again, f"{again:.1f} s")
    pause = measured["pause"]
    yield Figure("longest step of both", pause, f"{pause * 1e3:.0f} ms")


class _Paged(EmbeddedStore):
    """Gives lists from files of one page a line, and no events."""

    def __init__(self, pages: Mapping[str, IO[bytes]]) -> None:
        super().__init__()
        self._pages = pages

    async def list(self, kind: str) -> AsyncIterator[Listing]:
        """See Store."""
        file = self._pages.get(kind)
        if file is None:
            yield Listing(kind, 1, ())
            return
        file.seek(0)
        token = ""
        while line := file.readline():
            page = page_of(line)
            resources = [decode(kind, raw) for raw in page.items or ()]
            rest = page.metadata.continue_ or ""
            yield Listing(kind, 1, resources, first=not token, last=not rest)
            token = rest

    async def watch(self, kind: str, since: int) -> AsyncIterator[WatchEvent]:  # type: ignore[override]
        """See Store."""
        await asyncio.Event().wait()
        yield cast("WatchEvent", (kind, since))


async def _read(pages: Mapping[str, IO[bytes]]) -> dict[str, float]:
    ingest = service_of(_Paged(pages)).core.ingest
    with reading_much():
        seconds, first = await _timed(ingest.start())
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    again, second = await _timed(ingest.relist("Run"))
    await ingest.stop()
    return {"mib": mib, "seconds": seconds, "again": again, "pause": max(first, second)}


async def _timed(work: Any) -> tuple[float, float]:
    """Return the CPU seconds of this thread that `work` takes, and of its longest turn of the event loop."""
    task = asyncio.ensure_future(work)
    began = now = time.thread_time()
    longest = 0.0
    while not task.done():
        await asyncio.sleep(0)
        before, now = now, time.thread_time()
        longest = max(longest, now - before)
    await task
    return now - began, longest


def _mixed_runs() -> Iterator[Json]:
    """Runs as they are in a busy cluster: half of them placed."""
    for number, run in enumerate(runs(RUNS)):
        if number % 2:
            on = number % PODS
            run["status"].update(phase="Running", assignedPod=f"python-{on:05d}", assignedPodUID=f"pod-{on}")
        yield run


def _written(kind: str, things: Iterable[Json]) -> IO[bytes]:
    """Write lists as an API server answers them, one page a line, to a file that goes with its last user."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 -- it outlives this function
    left = iter(things)
    page = [*islice(left, PAGE)]
    while page:
        following = [*islice(left, PAGE)]
        metadata = {"resourceVersion": "1", "continue": "more" if following else ""}
        file.write(json.dumps({"kind": f"{kind}List", "metadata": metadata, "items": page}).encode() + b"\n")
        page = following
    return file


if __name__ == "__main__":
    files = {"Pod": _written("Pod", pods(PODS)), "Run": _written("Run", _mixed_runs())}
    print(json.dumps(uvloop.run(_read(files))))
