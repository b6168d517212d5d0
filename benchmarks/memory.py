"""What the state of a large cluster costs in memory, and how long it takes to read it for the first time.

Measured in a process of its own: the state alone, fed with decoded listings as an informer feeds it.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

from benchmarks.driving import service_of
from benchmarks.measure import Figure
from benchmarks.worlds import Json, pods, runs
from berth_server.kube.embedded import EmbeddedStore
from berth_server.objects.decode import decode
from berth_server.observability.collector import reading_much
from berth_server.placement.ports import EventType, WatchEvent

RUNS, PODS = 100_000, 10_000
CHUNK = 1_000


def memory() -> Iterator[Figure]:
    """Yield all figures of this module."""
    command = [sys.executable, "-m", "benchmarks.memory"]
    result = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 -- our own module
    measured = json.loads(result.stdout)
    size, seconds, pause = measured["mib"], measured["seconds"], measured["pause"]
    yield Figure("memory, 100,000 Runs and 10,000 Runtime Pods", size, f"{size:,.0f} MiB")
    yield Figure("first read of that, decoding included", seconds, f"{seconds:.1f} s")
    yield Figure("longest step of that", pause, f"{pause * 1e3:.0f} ms")


def _read() -> dict[str, float]:
    ingest = service_of(EmbeddedStore()).core.ingest
    busy, longest = 0.0, 0.0
    with reading_much():
        for chunk in _chunks([("Pod", pods(PODS)), ("Run", _mixed_runs())]):
            start = time.thread_time()
            for kind, data in chunk:
                step = time.thread_time()
                ingest.apply(WatchEvent(EventType.ADDED, kind, 1, decode(kind, data)))
                longest = max(longest, time.thread_time() - step)
            busy += time.thread_time() - start
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"mib": mib, "seconds": busy, "pause": longest}


def _mixed_runs() -> Iterator[Json]:
    """Runs as they are in a busy cluster: half of them placed."""
    for number, run in enumerate(runs(RUNS)):
        if number % 2:
            on = number % PODS
            run["status"].update(phase="Running", assignedPod=f"python-{on:05d}", assignedPodUID=f"pod-{on}")
        yield run


def _chunks(sources: list[tuple[str, Iterator[Any]]]) -> Iterator[list[tuple[str, bytes]]]:
    for kind, things in sources:
        while chunk := [(kind, json.dumps(thing).encode()) for thing in islice(things, CHUNK)]:
            yield chunk


if __name__ == "__main__":
    print(json.dumps(_read()))
