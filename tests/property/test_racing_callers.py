"""The driver and an outside client over gRPC, on one cluster: they get in each other's way and never do harm."""

import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import grpc.aio
import pytest

from berth import items
from berth.v1 import placement_service_pb2 as pb
from berth.v1 import resources_pb2 as resources_pb
from berth.v1.placement_service_pb2_grpc import PlacementServiceStub
from berth_server.config.file import PluginConfig
from berth_server.driver.loop import Driver
from berth_server.framework.engine import Engine
from berth_server.framework.profile import build
from berth_server.objects.item import Item
from berth_server.placement.answers import PlanAnswer, Reserved, Unschedulable
from berth_server.placement.questions import ExistingRun, PlanQuestion
from berth_server.plugins import REGISTRY
from berth_server.rpc.server import build_server
from tests.builders import pod, run
from tests.harness import Harness, new_metrics
from tests.invariants import Bounds, check_one, check_same, misses
from tests.oracle.worlds import random_world
from tests.property.engine_worlds import micros
from tests.unit.rpc.rig import details_of, socket_in

CHUNK = 25
CROWD = 1
CHUNKS = 2
SLOW_CHUNKS = 20
Json = dict[str, Any]
METRICS = new_metrics()
ENGINES = {
    unbound: Engine(build("default", [PluginConfig("WorkspacePlacement", arguments={"unbound": unbound})], REGISTRY))
    for unbound in ("ignore", "wait")
}
LOSSES = {"RESERVATION_CONFLICT", "STALE_ITEM", "NOT_ELIGIBLE", "RESERVED_BY_OTHER", "UNKNOWN_RESERVATION"}
"""What a client may hear that the driver was faster than."""


class Switch:
    """The service of the world that is played now: one server serves hundreds of them."""

    service: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.service, name)


@dataclass
class Client:
    """An outside client that goes Filter, Score, Reserve, Bind. `heard`: what it was told when it lost."""

    switch: Switch
    stub: PlacementServiceStub
    heard: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    async def choose(self, item: Item) -> str:
        """Filter, then Score; return the candidate that the cycle would take, "" if there is none."""
        asked = items.run(item.name, namespace=item.namespace, uid=item.uid)
        filtered = await self.stub.Filter(pb.FilterRequest(item=asked, page_size=1000))
        scored = await self.stub.Score(pb.ScoreRequest(item=asked))
        feasible = {row.candidate.name for row in filtered.rows if row.feasible}
        assert filtered.diagnosis.feasible == scored.diagnosis.feasible == len(feasible)
        assert scored.chosen.name in feasible if feasible else not scored.HasField("chosen")
        return scored.chosen.uid and f"{scored.chosen.name} {scored.chosen.uid}"

    async def reserve(self, item: Item, chosen: str) -> str:
        """Reserve; return the reservation, "" if it was lost."""
        name, uid = chosen.split(" ")
        asked = items.run(item.name, namespace=item.namespace, uid=item.uid)
        request = pb.ReserveRequest(item=asked, candidate=resources_pb.CandidateRef(name=name, uid=uid))
        try:
            return (await self.stub.Reserve(request)).reservation.id
        except grpc.aio.AioRpcError as error:
            return self._hear(error)

    async def bind(self, reservation_id: str) -> str:
        """Bind; return the name of the candidate, "" if it was lost."""
        try:
            return (await self.stub.Bind(pb.BindRequest(reservation_id=reservation_id))).candidate.name
        except grpc.aio.AioRpcError as error:
            return self._hear(error)

    def _hear(self, error: grpc.aio.AioRpcError) -> str:
        info = details_of(error)["ErrorInfo"]
        self.heard.append((error.code().name, info.reason, dict(info.metadata)))
        return ""


@asynccontextmanager
async def a_client() -> AsyncIterator[Client]:
    """Serve, and connect."""
    switch = Switch()
    with tempfile.TemporaryDirectory() as directory:
        server = build_server([socket_in(Path(directory))], switch, switch, METRICS)
        await server.start()
        try:
            async with grpc.aio.insecure_channel(str(server.addresses[0])) as channel:
                yield Client(switch, PlacementServiceStub(channel))
        finally:
            await server.stop(1)


def crowd(objects: Sequence[Json]) -> list[Json]:
    """Add twins of Runs that wait, so that room is short."""
    runs = [each for each in objects if each["kind"] == "Run" and not (each.get("status") or {}).get("assignedPod")]
    return [
        {
            **each,
            "metadata": {**each["metadata"], "name": f"{each['metadata']['name']}-{n}", "uid": f"twin-{index}-{n}"},
        }
        for index, each in enumerate(runs[:6])
        for n in range(CROWD)
    ]


async def a_world(seed: int) -> Harness:
    """Start the random world of a seed, with a crowd in it."""
    world = random_world(seed)
    now = micros(world.as_of)
    return await Harness(
        *world.objects, *crowd(world.objects), standing_at=now, wall=now, engine=ENGINES[world.unbound], metrics=METRICS
    ).start()


def pending(harness: Harness) -> list[Item]:
    """Return the Runs that wait in the queue."""
    uids = sorted(row.key.uid for row in harness.core.queue.rows())
    return [harness.core.state.items[uid] for uid in uids]


async def race(client: Client, seed: int) -> None:
    """Let the client place Runs while the driver may step in before each of its calls."""
    rng, harness = Random(seed), await a_world(seed)
    client.switch.service = harness.service
    bounds = Bounds(harness)

    async def meanwhile() -> None:
        if rng.random() < 0.6:
            for popped in await harness.service.pop(max_items=rng.choice((1, 2, 4)), wait=0):
                planned = await harness.driver._plan(popped)
                if planned is not None and rng.random() < 0.8:
                    await harness.driver._bind(popped, planned)
                await harness.driver._done(popped)
        if rng.random() < 0.5:
            harness.pump(count=rng.randrange(6))
        bounds.check(harness)
        check_one(harness)

    for item in pending(harness):
        await meanwhile()
        if item.spec.fault is not None or item.link is not None:
            continue
        chosen = await client.choose(item)
        await meanwhile()
        reservation = await client.reserve(item, chosen) if chosen else ""
        await meanwhile()
        if reservation and rng.random() < 0.9:
            await client.bind(reservation)
    await harness.advance(121.0)
    await harness.drive()
    bounds.check(harness)
    check_one(harness)
    check_same(harness)
    assert misses(harness) == []
    assert not harness.reservations


class Recorder:
    """The service as the driver sees it, with every decision written down."""

    def __init__(self, service: Any) -> None:
        self._service = service
        self.decisions: list[tuple[ExistingRun, object]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._service, name)

    async def plan(self, question: PlanQuestion) -> PlanAnswer:
        """Decide and write it down."""
        answer: PlanAnswer = await self._service.plan(question)
        assert isinstance(question.item, ExistingRun)
        self.decisions.append((question.item, answer.result))
        return answer


async def follow(client: Client, seed: int) -> int:
    """Decide as the driver did, in its order, by single calls; return how many Runs were placed."""
    alone, twin = await a_world(seed), await a_world(seed)
    recorder: Any = Recorder(alone.service)
    alone.driver = Driver(recorder, alone.log)
    await alone.drive()
    client.switch.service = twin.service
    for asked, result in recorder.decisions:
        if not isinstance(result, (Reserved, Unschedulable)):
            continue
        item = twin.core.state.items[asked.uid]
        chosen = await client.choose(item)
        if isinstance(result, Unschedulable):
            assert not chosen
            continue
        assert chosen == f"{result.reservation.candidate.name} {result.reservation.candidate.uid}"
        assert await client.bind(await client.reserve(item, chosen))
        twin.pump()
    assert twin.placements() == alone.placements()
    assert not client.heard
    return len(twin.store.assigned)


def seeds(seed: int, chunk: int) -> Sequence[int]:
    """Give the worlds of a chunk."""
    first = seed * 1000 + chunk * CHUNK
    return range(first, first + CHUNK)


async def check_races(worlds: Sequence[int]) -> None:
    """Race in every world; the client hears of each loss in the words of the table."""
    async with a_client() as client:
        for world in worlds:
            try:
                await race(client, world)
            except AssertionError as error:
                raise AssertionError(f"{error}\nin world {world}") from error
    reasons = Counter(reason for _, reason, _ in client.heard)
    assert reasons.keys() <= LOSSES
    for code, reason, metadata in client.heard:
        assert (code == "ABORTED") == (reason in {"RESERVATION_CONFLICT", "STALE_ITEM"})
        if reason == "RESERVATION_CONFLICT":
            assert metadata["plugin"]
            assert metadata["reason"]
            assert metadata["candidate"]
    assert reasons, "nobody lost a race"


async def check_twins(worlds: Sequence[int]) -> None:
    """Follow in every world."""
    async with a_client() as client:
        placed = 0
        for world in worlds:
            try:
                placed += await follow(client, world)
            except AssertionError as error:
                raise AssertionError(f"{error}\nin world {world}") from error
        assert placed


@pytest.mark.parametrize("chunk", range(CHUNKS))
async def test_racing(seed: int, chunk: int) -> None:
    """Nothing is overcommitted, nothing bound twice, and who loses hears what it lost to."""
    await check_races(seeds(seed, chunk))


@pytest.mark.parametrize("chunk", range(CHUNKS))
async def test_same_placements_step_by_step(seed: int, chunk: int) -> None:
    """When nobody interferes, Filter, Score, Reserve, Bind place as Plan does."""
    await check_twins(seeds(seed, chunk))


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS, SLOW_CHUNKS))
async def test_more_racing(seed: int, chunk: int) -> None:
    """More of the same: 500 worlds in all."""
    await check_races(seeds(seed, chunk))


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS, SLOW_CHUNKS))
async def test_more_placements_step_by_step(seed: int, chunk: int) -> None:
    """More of the same: 500 worlds in all."""
    await check_twins(seeds(seed, chunk))


async def test_the_loser_hears_the_rejection() -> None:
    """The driver takes the last slot between Score and Reserve: ABORTED, with the plugin and the reason."""
    harness = await Harness(run("a"), run("b"), pod("p1", capacity={"runs": 1}), metrics=METRICS).start()
    async with a_client() as client:
        client.switch.service = harness.service
        chosen = await client.choose(harness.item("b"))
        assert await harness.driver.step(wait=0)
        assert not await client.reserve(harness.item("b"), chosen)
    ((code, reason, metadata),) = client.heard
    assert (code, reason) == ("ABORTED", "RESERVATION_CONFLICT")
    assert (metadata["plugin"], metadata["reason"]) == ("RuntimePodAvailability", "InsufficientCapacity")
    await harness.drive()
    assert harness.placements() == {"ns/a": "ns/p1"}
