"""Events: what repeats is one, what is too much is dropped, and nothing ever waits."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry

from berth_server.kube.connection import Answer, Connection
from berth_server.kube.recorder import MAX_QUEUED, MAX_SERIES, EventRecorder
from berth_server.kube.verdicts import UnavailableError
from berth_server.observability.metrics import Metrics
from berth_server.placement.ports import ObjectRef

WHOLE_SECOND = datetime(2026, 1, 1, tzinfo=UTC)


class FakeConnection:
    """Keeps what is sent; answers with `codes`, then 201; 0 is a lost connection."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, dict[str, Any]]] = []
        self.codes: list[int] = []

    async def request(self, method: str, path: str, *, body: bytes, **_: Any) -> Answer:
        """See Connection."""
        self.sent.append((method, path, json.loads(body)))
        code = self.codes.pop(0) if self.codes else 201
        if not code:
            raise UnavailableError("lost")
        return Answer(code, b"{}")


class Bench:
    """A recorder whose clock the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.busy = False
        self.connection = FakeConnection()
        self.registry = CollectorRegistry()
        connection = cast("Connection", self.connection)
        self.recorder = EventRecorder(
            connection,
            Metrics(self.registry),
            "instance",
            lambda: WHOLE_SECOND,
            lambda: self.now,
            lambda: self.busy,
        )

    def waits(self, name: str = "a", note: str = "0/1 runtime pods: 1 InsufficientCapacity") -> None:
        """Tell that a Run waits."""
        self.recorder.record(ObjectRef("Run", "ns", name, f"ns/{name}"), "FailedScheduling", note)

    async def send(self) -> None:
        """Let everything be sent that is queued."""
        task = asyncio.create_task(self.recorder.run())
        for _ in range(5 * MAX_QUEUED):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def count(self, result: str) -> float:
        """Return how many Events had that fate."""
        return self.registry.get_sample_value("berth_events_total", {"result": result}) or 0.0


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A recorder that does not pause between two sends."""
    monkeypatch.setattr("berth_server.kube.recorder.PER_SECOND", float("inf"))
    return Bench()


async def test_an_event(bench: Bench) -> None:
    """It has what the API demands, and names the object by UID."""
    bench.waits()
    await bench.send()
    ((method, path, body),) = bench.connection.sent
    assert (method, path) == ("POST", "/apis/events.k8s.io/v1/namespaces/ns/events")
    assert body["eventTime"] == "2026-01-01T00:00:00.000001Z"
    assert (body["reason"], body["action"], body["type"]) == ("FailedScheduling", "Scheduling", "Warning")
    assert body["regarding"] == {
        "apiVersion": "kruntimes.io/v1alpha1",
        "kind": "Run",
        "namespace": "ns",
        "name": "a",
        "uid": "ns/a",
    }
    assert body["metadata"]["name"].startswith("a.")
    assert bench.count("sent") == 1


async def test_what_repeats_is_a_series(bench: Bench) -> None:
    """Nothing for a minute, then one patch with the count; after a long silence a new Event."""
    bench.waits()
    await bench.send()
    for seconds in (1, 58):
        bench.now += seconds
        bench.waits()
    await bench.send()
    assert len(bench.connection.sent) == 1
    bench.now += 1
    bench.waits()
    await bench.send()
    name = bench.connection.sent[0][2]["metadata"]["name"]
    method, path, body = bench.connection.sent[1]
    assert (method, path) == ("PATCH", f"/apis/events.k8s.io/v1/namespaces/ns/events/{name}")
    assert body["series"]["count"] == 4
    bench.now += 361
    bench.waits()
    await bench.send()
    assert [each[0] for each in bench.connection.sent] == ["POST", "PATCH", "POST"]


async def test_an_event_that_the_server_forgot(bench: Bench) -> None:
    """A series whose Event is gone begins anew."""
    bench.waits()
    await bench.send()
    bench.connection.codes = [404]
    for _ in range(2):
        bench.now += 60
        bench.waits()
        await bench.send()
    assert [each[0] for each in bench.connection.sent] == ["POST", "PATCH", "POST"]
    assert bench.count("failed") == 1


@pytest.mark.parametrize("code", [0, 403, 500])
async def test_a_failure_is_not_tried_again(bench: Bench, code: int) -> None:
    """It is counted, and the next Event goes out."""
    bench.connection.codes = [code]
    bench.waits("a")
    bench.waits("b")
    await bench.send()
    assert [each[2]["regarding"]["name"] for each in bench.connection.sent] == ["a", "b"]
    assert (bench.count("failed"), bench.count("sent")) == (1, 1)


async def test_too_many_are_dropped(bench: Bench) -> None:
    """The queue is bounded; nobody waits, and what was dropped is counted."""
    for number in range(MAX_QUEUED + 3):
        bench.waits(f"r{number}")
    assert bench.count("dropped") == 3
    await bench.send()
    assert bench.count("sent") == MAX_QUEUED


async def test_what_is_remembered_is_bounded(bench: Bench) -> None:
    """The oldest series goes first."""
    for number in range(MAX_SERIES + 10):
        bench.waits(f"r{number}")
        await bench.send() if bench.recorder._queue.full() else None
    assert len(bench.recorder._series) <= MAX_SERIES


async def test_a_long_note_is_cut(bench: Bench) -> None:
    """The API takes a kilobyte."""
    bench.waits(note="ü" * 2000)
    await bench.send()
    assert len(bench.connection.sent[0][2]["note"].encode()) <= 1024


async def test_a_burst_of_writes_comes_first(bench: Bench) -> None:
    """While many assignments are on their way no Event goes out; what then finds no room is dropped and counted."""
    bench.busy = True
    for number in range(MAX_QUEUED + 2):
        bench.waits(f"r{number}")
    await bench.send()
    assert not bench.connection.sent
    assert bench.count("dropped") == 2
    bench.busy = False
    await bench.send()
    # The one that waited for the end of the burst went with the task that held it.
    assert len(bench.connection.sent) == MAX_QUEUED - 1
