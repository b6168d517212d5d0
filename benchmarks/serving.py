"""Calls over gRPC against a real server process on loopback: what a caller waits for.

Client and server share the machine's cores, so the rate of many callers is what both cost together.
"""

import asyncio
import contextlib
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import count
from pathlib import Path

import grpc
import grpc.aio
from google.protobuf.duration_pb2 import Duration

from benchmarks.measure import Figure
from benchmarks.worlds import write_manifests
from berth.v1 import placement_service_pb2 as pb
from berth.v1 import resources_pb2 as resources
from berth.v1.placement_service_pb2_grpc import PlacementServiceStub

PODS, RUNS = 200, 12_000
CALLERS = 32
SECONDS = 3.0
BATCH = 64
HOLD = Duration(seconds=120)
Call = Callable[[], Awaitable[object]]


def serving() -> Iterator[Figure]:
    """Yield all figures of this module."""
    yield from asyncio.run(_measure())


async def _measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.json"
        write_manifests(path, PODS, RUNS)
        async with _server(path) as target, grpc.aio.insecure_channel(target) as channel:
            stub = PlacementServiceStub(channel)
            score = _score(stub)
            dry = _plan(stub, dry_run=True)
            alone = await _latency(score)
            figures = [
                Figure("Score, unary, 1 caller, p50", 1 / alone, f"{alone * 1e3:.2f} ms"),
                await _rate("Score, unary, 32 callers", score),
            ]
            alone = await _latency(dry)
            figures.append(Figure("Plan dry run, unary, 1 caller, p50", 1 / alone, f"{alone * 1e3:.2f} ms"))
            figures.append(await _rate("Plan dry run, unary, 32 callers", dry))
            plan = _plan(stub, dry_run=False)
            alone = await _latency(plan, calls=300)
            figures.append(Figure("Plan with reserve, unary, 1 caller, p50", 1 / alone, f"{alone * 1e3:.2f} ms"))
            figures.append(await _rate("Plan with reserve, unary, 32 callers", plan, calls=4_000))
            figures.append(await _batches(stub))
            return figures


@contextlib.asynccontextmanager
async def _server(cluster: Path) -> AsyncIterator[str]:
    command = [sys.executable, "-m", "berth_server", "serve", "--cluster", str(cluster), "--driver", "off"]
    command += ["--listen", "127.0.0.1:0", "--metrics-listen", "off", "--log-format", "json"]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode()
    found = re.search(r"127\.0\.0\.1:[0-9]+", line)
    assert found, f"the server did not start: {line}"
    try:
        yield found.group()
    finally:
        process.terminate()
        await process.wait()


def _run(number: int) -> resources.Item:
    key = resources.ObjectKey(namespace="bench", name=f"run-{number:06d}", uid=f"run-{number}")
    return resources.Item(run=key)


def _score(stub: PlacementServiceStub) -> Call:
    request = pb.ScoreRequest(item=_run(0))
    return lambda: stub.Score(request)


_numbers = count()


def _plan(stub: PlacementServiceStub, *, dry_run: bool) -> Call:
    def call() -> Awaitable[object]:
        number = 0 if dry_run else next(_numbers)
        return stub.Plan(pb.PlanRequest(item=_run(number), dry_run=dry_run, hold=HOLD))

    return call


async def _latency(call: Call, calls: int = 500) -> float:
    """Return the median seconds of one call after another."""
    took = []
    for _ in range(calls):
        start = time.perf_counter()
        await call()
        took.append(time.perf_counter() - start)
    return sorted(took)[len(took) // 2]


async def _rate(name: str, call: Call, calls: int = 10**9) -> Figure:
    """Return calls a second of many callers, each with one call at a time."""
    done, start = 0, time.perf_counter()

    async def caller() -> None:
        nonlocal done
        while done < calls and time.perf_counter() - start < SECONDS:
            done += 1
            await call()

    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    value = done / (time.perf_counter() - start)
    return Figure(name, value, f"{value:,.0f}/s")


async def _batches(stub: PlacementServiceStub, batches: int = 60) -> Figure:
    requests = [
        pb.PlanBatchRequest(plans=[pb.PlanRequest(item=_run(next(_numbers)), hold=HOLD) for _ in range(BATCH)])
        for _ in range(batches)
    ]
    start = time.perf_counter()
    for request in requests:
        response = await stub.PlanBatch(request)
        assert all(each.response.HasField("reserved") for each in response.results)
    value = batches * BATCH / (time.perf_counter() - start)
    return Figure(f"PlanBatch of {BATCH}, plans", value, f"{value:,.0f}/s")
