"""Every refusal of placement, provoked over the wire on a real service: code, reason, details, one sentence."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc.aio
import pytest

from berth import items
from berth.v1 import placement_service_pb2 as pb
from berth.v1 import resources_pb2 as resources_pb
from berth.v1.placement_service_pb2_grpc import PlacementServiceStub
from berth_server.placement.failures import Reason
from berth_server.placement.ports import RefusedError, ThrottledError
from berth_server.rpc.deadlines import Deadlines
from berth_server.rpc.server import RpcServer, build_server
from tests.builders import pod, run
from tests.harness import Harness
from tests.unit.rpc.rig import details_of, socket_in

WORLD = (
    run("a"),
    run("b"),
    run("grouped", annotations={"berth.dev/pod-group-name": "g"}),
    run("done", phase="Succeeded"),
    pod("p1", capacity={"runs": 1}),
    pod("p2", capacity={"runs": 1}),
)
A_LONG_WAY = 3600.0


@dataclass(frozen=True)
class Wire:
    """A server over a harness, and a stub without retries."""

    harness: Harness
    server: RpcServer
    stub: PlacementServiceStub

    def item(self, name: str = "a", *, uid: str | None = None, version: str = "") -> resources_pb.Item:
        """Name a Run with its UID."""
        wanted = f"ns/{name}" if uid is None else uid
        return items.run(name, namespace="ns", uid=wanted, min_resource_version=version)

    async def reserve(
        self, name: str = "a", pod: str = "p1", *, uid: str = "", by: str = ""
    ) -> resources_pb.Reservation:
        """Reserve."""
        candidate = resources_pb.CandidateRef(name=pod, uid=uid or f"ns/{pod}")
        request = pb.ReserveRequest(item=self.item(name), candidate=candidate, owner_token=by)
        return (await self.stub.Reserve(request)).reservation

    async def bind(self, reservation_id: str) -> pb.BindResponse:
        """Bind."""
        return await self.stub.Bind(pb.BindRequest(reservation_id=reservation_id))

    async def binding(self) -> "asyncio.Task[pb.BindResponse]":
        """Reserve a on p1 and bind it, up to the write, which waits for the test."""
        self.harness.store.held = True
        reservation = await self.reserve()
        task = asyncio.create_task(self.bind(reservation.id))
        while not self.harness.store.writes:  # noqa: ASYNC110 - the store wakes nobody
            await asyncio.sleep(0)
        return task

    async def let_go(self, task: "asyncio.Task[pb.BindResponse]") -> None:
        """Let the write that waits end."""
        await self.harness.store.answer(self.harness.store.writes[0])
        await task


@asynccontextmanager
async def wire(directory: Path, *, synced: bool = True, call_limit: int = 8) -> AsyncIterator[Wire]:
    """Serve a small world on a unix socket."""
    harness = Harness(*WORLD)
    if synced:
        await harness.start()
    deadlines = Deadlines(clock=harness.clock)
    service = harness.service
    address = socket_in(directory)
    server = build_server(
        [address], service, service.inspector, harness.metrics, call_limit=call_limit, deadlines=deadlines
    )
    await server.start()
    try:
        options = [("grpc.enable_retries", 0)]
        async with grpc.aio.insecure_channel(str(server.addresses[0]), options=options) as channel:
            yield Wire(harness, server, PlacementServiceStub(channel))
    finally:
        await server.stop(1)


Provoke = Callable[[Wire], Awaitable[object]]


async def unknown_item(w: Wire) -> object:
    """Name a Run that is not there."""
    return await w.stub.Plan(pb.PlanRequest(item=w.item("nobody")))


async def unknown_candidate(w: Wire) -> object:
    """Name a Pod that is not there."""
    return await w.reserve(pod="p9")


async def unknown_reservation(w: Wire) -> object:
    """Bind what has expired."""
    reservation = await w.reserve()
    await w.harness.advance(31.0)
    return await w.bind(reservation.id)


async def reservation_conflict(w: Wire) -> object:
    """Reserve a slot that is taken."""
    await w.reserve("b")
    return await w.reserve("a")


async def held_elsewhere(w: Wire) -> object:
    """Reserve another candidate than the one held."""
    await w.reserve("a", "p1")
    return await w.reserve("a", "p2")


async def conflict_at_bind(w: Wire) -> object:
    """Bind onto a Pod that is not ready any more."""
    reservation = await w.reserve()
    await w.harness.set_ready("p1", "False")
    w.harness.pump()
    return await w.bind(reservation.id)


async def stale_target(w: Wire) -> object:
    """Name a Pod by a UID that it had before."""
    return await w.reserve(uid="before")


async def recreated_item(w: Wire) -> object:
    """Name a Run by a UID that it had before."""
    return await w.stub.Plan(pb.PlanRequest(item=w.item(uid="before")))


async def changed_item(w: Wire) -> object:
    """Bind a Run that somebody else has written meanwhile."""
    reservation = await w.reserve()
    await w.harness.label("Run", "a", touched="yes")
    return await w.bind(reservation.id)


async def stale_epoch(w: Wire) -> object:
    """Ask for a page of rows of which one has gone."""
    first = await w.stub.Filter(pb.FilterRequest(item=w.item(), page_size=1))
    await w.harness.delete("Pod", "p2")
    w.harness.pump()
    return await w.stub.Filter(pb.FilterRequest(item=w.item(), page_size=1, page_token=first.next_page_token))


async def not_eligible(w: Wire) -> object:
    """Reserve for a Run that is over."""
    return await w.reserve("done")


async def already_assigned(w: Wire) -> object:
    """Reserve for a Run that is assigned elsewhere."""
    await w.bind((await w.reserve()).id)
    w.harness.pump()
    return await w.reserve("a", "p2")


async def member_of_group(w: Wire) -> object:
    """Plan a member of a group alone."""
    return await w.stub.Plan(pb.PlanRequest(item=w.item("grouped")))


async def reserved_by_other(w: Wire) -> object:
    """Plan what another owner holds."""
    await w.reserve(by="somebody")
    return await w.stub.Plan(pb.PlanRequest(item=w.item()))


async def release_of_others(w: Wire) -> object:
    """Release what another owner holds."""
    reservation = await w.reserve(by="somebody")
    return await w.stub.Release(pb.ReleaseRequest(reservation_id=reservation.id))


async def release_while_binding(w: Wire) -> object:
    """Release while the write is out."""
    task = await w.binding()
    try:
        (held,) = w.harness.reservations
        return await w.stub.Release(pb.ReleaseRequest(reservation_id=held.id))
    finally:
        await w.let_go(task)


async def reserve_while_binding(w: Wire) -> object:
    """Renew while the write is out."""
    task = await w.binding()
    try:
        return await w.reserve()
    finally:
        await w.let_go(task)


async def outcome_unknown(w: Wire) -> object:
    """Bind, and lose the connection to the API."""
    task = await w.binding()
    w.harness.store.lose(w.harness.store.writes[0])
    return await task


async def bind_refused(w: Wire) -> object:
    """Bind without the right to write."""
    w.harness.store.failures = [RefusedError("runs.kruntimes.io is forbidden", code=403, reason="Forbidden")]
    return await w.bind((await w.reserve()).id)


async def bind_throttled(w: Wire) -> object:
    """Bind while the API has had enough."""
    w.harness.store.failures = [ThrottledError("too many requests", retry_after=7.0)]
    return await w.bind((await w.reserve()).id)


async def attempt_over(w: Wire) -> object:
    """Plan for an attempt whose lease has ended."""
    popped = (await w.harness.service.pop(max_items=1, wait=0))[0]
    await w.harness.advance(61.0)
    return await w.stub.Plan(pb.PlanRequest(item=w.item(popped.item.name), attempt_id=popped.attempt_id))


async def late_bind(w: Wire) -> object:
    """Bind for an attempt whose lease has ended, and its reservation with it."""
    popped = (await w.harness.service.pop(max_items=1, wait=0))[0]
    planned = await w.stub.Plan(pb.PlanRequest(item=w.item(popped.item.name), attempt_id=popped.attempt_id))
    await w.harness.advance(61.0)
    request = pb.BindRequest(reservation_id=planned.reserved.id, attempt_id=popped.attempt_id)
    return await w.stub.Bind(request)


async def view_too_old(w: Wire) -> object:
    """Ask for a younger view than there is."""
    w.harness.store.seconds_old = 20.0
    request = pb.FilterRequest(item=w.item())
    request.read.max_view_age.seconds = 5
    return await w.stub.Filter(request)


async def view_behind(w: Wire) -> object:
    """Ask for a version that the view does not reach in time."""
    task = asyncio.ensure_future(w.stub.Plan(pb.PlanRequest(item=w.item(version="999")), timeout=A_LONG_WAY))
    moved = w.harness.core.ingest._moved
    while not moved._waiters:  # noqa: ASYNC110 - the event wakes nobody for being waited for
        await asyncio.sleep(0)
    w.harness.clock.advance(2 * A_LONG_WAY)  # gRPC rounds long times
    await w.harness.label("Pod", "p1", anything="new")
    w.harness.pump()
    return await task


async def shutting_down(w: Wire) -> object:
    """Call while the last bind ends."""
    task = await w.binding()
    draining = asyncio.create_task(w.server.drain())
    try:
        while not w.server._guard._draining:  # noqa: ASYNC110 - the server wakes nobody
            await asyncio.sleep(0)
        return await w.stub.Plan(pb.PlanRequest(item=w.item("b")))
    finally:
        await w.let_go(task)
        await draining


TABLE: list[tuple[Provoke, Reason, grpc.StatusCode, str, dict[str, str]]] = [
    (unknown_item, Reason.UNKNOWN_ITEM, grpc.StatusCode.NOT_FOUND, "ResourceInfo", {"name": "nobody"}),
    (unknown_candidate, Reason.UNKNOWN_CANDIDATE, grpc.StatusCode.NOT_FOUND, "ResourceInfo", {"candidate": "p9"}),
    (unknown_reservation, Reason.UNKNOWN_RESERVATION, grpc.StatusCode.NOT_FOUND, "ResourceInfo", {}),
    (
        reservation_conflict,
        Reason.RESERVATION_CONFLICT,
        grpc.StatusCode.ABORTED,
        "RetryInfo",
        {"plugin": "RuntimePodAvailability", "reason": "InsufficientCapacity", "candidate": "p1"},
    ),
    (held_elsewhere, Reason.RESERVATION_CONFLICT, grpc.StatusCode.ABORTED, "RetryInfo", {"candidate": "p1"}),
    (
        conflict_at_bind,
        Reason.RESERVATION_CONFLICT,
        grpc.StatusCode.ABORTED,
        "RetryInfo",
        {"plugin": "RuntimePodAvailability", "reason": "RuntimePodNotReady", "candidate": "p1"},
    ),
    (stale_target, Reason.STALE_TARGET, grpc.StatusCode.ABORTED, "RetryInfo", {"uid": "ns/p1", "asked_uid": "before"}),
    (recreated_item, Reason.STALE_ITEM, grpc.StatusCode.ABORTED, "RetryInfo", {"uid": "ns/a", "asked_uid": "before"}),
    (changed_item, Reason.STALE_ITEM, grpc.StatusCode.ABORTED, "RetryInfo", {"uid": "ns/a"}),
    (stale_epoch, Reason.STALE_EPOCH, grpc.StatusCode.ABORTED, "RetryInfo", {}),
    (not_eligible, Reason.NOT_ELIGIBLE, grpc.StatusCode.FAILED_PRECONDITION, "", {"why": "Terminal"}),
    (already_assigned, Reason.NOT_ELIGIBLE, grpc.StatusCode.FAILED_PRECONDITION, "", {"why": "AlreadyAssigned"}),
    (member_of_group, Reason.MEMBER_OF_GROUP, grpc.StatusCode.FAILED_PRECONDITION, "", {"group": "g"}),
    (reserved_by_other, Reason.RESERVED_BY_OTHER, grpc.StatusCode.FAILED_PRECONDITION, "", {"state": "HELD"}),
    (release_of_others, Reason.RESERVED_BY_OTHER, grpc.StatusCode.FAILED_PRECONDITION, "", {"candidate": "p1"}),
    (release_while_binding, Reason.BIND_IN_PROGRESS, grpc.StatusCode.FAILED_PRECONDITION, "", {"state": "BINDING"}),
    (reserve_while_binding, Reason.BIND_IN_PROGRESS, grpc.StatusCode.FAILED_PRECONDITION, "", {"state": "BINDING"}),
    (outcome_unknown, Reason.BIND_IN_PROGRESS, grpc.StatusCode.FAILED_PRECONDITION, "", {"state": "UNCONFIRMED"}),
    (bind_refused, Reason.BIND_REFUSED, grpc.StatusCode.FAILED_PRECONDITION, "", {"reason": "Forbidden"}),
    (bind_throttled, Reason.BIND_REFUSED, grpc.StatusCode.FAILED_PRECONDITION, "RetryInfo", {"reason": "Throttled"}),
    (attempt_over, Reason.ATTEMPT_OVER, grpc.StatusCode.FAILED_PRECONDITION, "", {}),
    (late_bind, Reason.ATTEMPT_OVER, grpc.StatusCode.FAILED_PRECONDITION, "", {}),
    (view_too_old, Reason.VIEW_TOO_OLD, grpc.StatusCode.UNAVAILABLE, "", {"age_seconds": "20.000"}),
    (view_behind, Reason.VIEW_BEHIND, grpc.StatusCode.UNAVAILABLE, "", {"version": "999"}),
    (shutting_down, Reason.SHUTTING_DOWN, grpc.StatusCode.UNAVAILABLE, "", {}),
]


@pytest.mark.parametrize(
    ("provoke", "want_reason", "want_code", "want_detail", "want_metadata"),
    [pytest.param(*row, id=row[0].__name__) for row in TABLE],
)
async def test_error(
    tmp_path: Path,
    provoke: Provoke,
    want_reason: Reason,
    want_code: grpc.StatusCode,
    want_detail: str,
    want_metadata: dict[str, str],
) -> None:
    """The caller hears one reason with the code of the table, the values of the sentence, and what to do next."""
    async with wire(tmp_path) as running:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await provoke(running)
    check(caught.value, want_reason, want_code, want_detail, want_metadata)


async def test_not_synced(tmp_path: Path) -> None:
    """Before the cluster was read whole, nothing is answered."""
    async with wire(tmp_path, synced=False) as running:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await running.stub.Filter(pb.FilterRequest(item=running.item()))
    check(caught.value, Reason.NOT_SYNCED, grpc.StatusCode.UNAVAILABLE, "", {})


async def test_over_limit(tmp_path: Path) -> None:
    """While as many calls are in progress as may be, the next one hears so and changes nothing."""
    async with wire(tmp_path, call_limit=1) as running:
        task = await running.binding()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await running.reserve("b", "p2")
        await running.let_go(task)
    assert [each.item.name for each in running.harness.reservations] == ["a"]
    check(caught.value, Reason.OVER_LIMIT, grpc.StatusCode.RESOURCE_EXHAUSTED, "QuotaFailure", {"limit": "1"})
    assert "RetryInfo" in details_of(caught.value)


def check(
    error: grpc.aio.AioRpcError, reason: Reason, code: grpc.StatusCode, detail: str, metadata: dict[str, str]
) -> None:
    """Compare an error with its row."""
    details = details_of(error)
    info = details.pop("ErrorInfo")
    assert (info.reason, error.code(), info.domain) == (reason.value, code, "berth.dev")
    assert metadata.items() <= dict(info.metadata).items()
    assert (detail in details) if detail else not details
    sentence = error.details() or ""
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert len(sentence) < 300
