"""What every call passes through: deadline, limit, draining, metrics, owner."""

import asyncio
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from berth.v1 import inspection_service_pb2 as inspection_pb
from berth.v1 import placement_service_pb2 as pb
from berth.v1 import resources_pb2
from berth_server.placement.questions import ExistingRun
from berth_server.rpc.deadlines import Deadlines
from tests.unit.rpc.rig import Rig, details_of, serving, socket_in

ITEM = resources_pb2.Item(run=resources_pb2.ObjectKey(name="train", uid="u"))
SCORE = pb.ScoreRequest(item=ITEM)
RESERVE = pb.ReserveRequest(item=ITEM, candidate=resources_pb2.CandidateRef(name="py-1", uid="uid-1"))


class _Clock:
    """Stands at 1000 s."""

    def monotonic(self) -> float:
        return 1000.0

    def wall(self) -> int:
        return 0


async def test_every_method_reaches_the_service(rig: Rig) -> None:
    """Each RPC asks its own question and gets its own answer."""
    assert (await rig.placement.Filter(pb.FilterRequest(item=ITEM))).next_page_token == "more"  # noqa: S105
    assert (await rig.placement.Score(SCORE)).chosen.name == "py-1"
    assert (await rig.placement.Plan(pb.PlanRequest(item=ITEM))).fits.candidate.name == "py-1"
    assert (await rig.inspection.ListRuns(inspection_pb.ListRunsRequest())).runs[0].key.name == "train"
    batch = await rig.placement.PlanBatch(pb.PlanBatchRequest(plans=[pb.PlanRequest(item=ITEM)]))
    assert batch.results[0].response.fits.candidate.name == "py-1"
    assert (await rig.placement.Reserve(RESERVE)).reservation.owner == "unix"
    assert (await rig.placement.Release(pb.ReleaseRequest(reservation_id="r"))).released
    assert (await rig.placement.Bind(pb.BindRequest(reservation_id="r"))).resource_version == "43"
    reservations = await rig.inspection.ListReservations(inspection_pb.ListReservationsRequest())
    assert [row.item.name for row in reservations.reservations] == ["train"]
    assert (await rig.inspection.ListPending(inspection_pb.ListPendingRequest())).items[0].item.name == "train"
    candidates = await rig.inspection.ListCandidates(inspection_pb.ListCandidatesRequest())
    assert [row.candidate.name for row in candidates.candidates] == ["py-1", "py-2"]
    assert (await rig.inspection.GetServerInfo(inspection_pb.GetServerInfoRequest())).instance == "berth-0"
    questions = rig.service.asked[:3]
    assert [question.item for question in questions] == [ExistingRun("default", "train", "u")] * 3


async def test_a_call_without_deadline_gets_the_servers(tmp_path: Path) -> None:
    """The service is told until when it may wait, and the caller is told that the server set it."""
    async with serving(socket_in(tmp_path), deadlines=Deadlines(30.0, _Clock())) as rig:
        call = rig.placement.Score(SCORE)
        await call
        assert rig.service.asked[0].read.deadline == 1030.0
        assert dict(await call.trailing_metadata()) == {"berth-deadline-seconds": "30"}


async def test_a_write_may_wait_as_long_as_a_read(tmp_path: Path) -> None:
    """Reserve, Bind and every plan of a batch carry the deadline of their call."""
    async with serving(socket_in(tmp_path), deadlines=Deadlines(30.0, _Clock())) as rig:
        await rig.placement.Reserve(RESERVE)
        await rig.placement.Bind(pb.BindRequest(reservation_id="r"))
        assert [question.deadline for question in rig.service.asked] == [1030.0, 1030.0]
        await rig.placement.PlanBatch(pb.PlanBatchRequest(plans=[pb.PlanRequest(item=ITEM)] * 2))
        assert [question.read.deadline for question in rig.service.asked[2:]] == [1030.0, 1030.0]


async def test_a_callers_deadline_is_passed_on(tmp_path: Path) -> None:
    """A deadline that the client set is the one that counts."""
    async with serving(socket_in(tmp_path), deadlines=Deadlines(30.0, _Clock())) as rig:
        call = rig.placement.Plan(pb.PlanRequest(item=ITEM), timeout=500)
        await call
        assert rig.service.asked[0].read.deadline == pytest.approx(1500, abs=60)  # gRPC rounds it on the way
        assert not dict(await call.trailing_metadata())


async def test_the_servers_deadline_ends_a_call(tmp_path: Path) -> None:
    """Nothing waits for ever; the answer says that the limit was the server's."""
    async with serving(socket_in(tmp_path), deadlines=Deadlines(0.05)) as rig:
        rig.service.gate = asyncio.Event()
        error = await _failure(rig)
        assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert error.details() == "No answer within 0.05 s, the limit for a call without a deadline."
        assert dict(error.trailing_metadata())["berth-deadline-seconds"] == "0.05"
        assert rig.handled("Score", "DEADLINE_EXCEEDED") == 1


async def test_a_time_out_of_the_service_is_no_deadline(rig: Rig) -> None:
    """TimeoutError from below is a bug, not the caller's deadline."""
    rig.service.failure = TimeoutError()
    assert (await _failure(rig)).code() is grpc.StatusCode.INTERNAL


async def test_a_call_over_the_limit_is_refused_with_when_to_try_again(tmp_path: Path) -> None:
    """A full server says so at once, and goes on when a call has ended. Probes are not counted."""
    async with serving(socket_in(tmp_path), call_limit=1) as rig:
        rig.service.gate = asyncio.Event()
        first = asyncio.ensure_future(_score(rig))
        await rig.service.entered.wait()
        error = await _failure(rig)
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        details = details_of(error)
        assert details["ErrorInfo"].reason == "OVER_LIMIT"
        assert details["ErrorInfo"].metadata["limit"] == "1"
        assert [each.subject for each in details["QuotaFailure"].violations] == ["concurrent calls"]
        assert details["RetryInfo"].retry_delay.ToMilliseconds() == 1000
        assert await rig.health("") == "SERVING"
        rig.service.gate.set()
        assert (await first).chosen.name == "py-1"
        assert (await _score(rig)).chosen.name == "py-1"


async def test_a_failed_call_gives_its_place_back(tmp_path: Path) -> None:
    """Every way out of a call ends it: an error, a bug, a wrong request, and a caller that goes away."""
    async with serving(socket_in(tmp_path), call_limit=1) as rig:
        rig.service.failure = ValueError("bug")
        await _failure(rig)
        rig.service.failure = None
        with pytest.raises(grpc.aio.AioRpcError):
            await rig.placement.Score(pb.ScoreRequest())
        rig.service.gate = asyncio.Event()
        rig.service.entered.clear()
        abandoned = rig.placement.Score(SCORE)
        waiting = asyncio.ensure_future(_answer(abandoned))
        await rig.service.entered.wait()
        abandoned.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        rig.service.gate = None
        assert await rig.counted("Score", "CANCELLED") == 1
        assert (await _score(rig)).chosen.name == "py-1"


async def test_counts_and_times_calls_by_code(rig: Rig) -> None:
    """One series for each method and code that occurred, and a histogram for each method."""
    await _score(rig)
    await _score(rig)
    with pytest.raises(grpc.aio.AioRpcError):
        await rig.placement.Score(pb.ScoreRequest())
    assert rig.handled("Score", "OK") == 2
    assert rig.handled("Score", "INVALID_ARGUMENT") == 1
    labels = {"grpc_service": "berth.v1.PlacementService", "grpc_method": "Score"}
    assert rig.registry.get_sample_value("grpc_server_handling_seconds_count", labels) == 3


async def test_unknown_methods_make_no_series(rig: Rig) -> None:
    """A client can't grow the metrics by making names up."""
    for method in ("/berth.v1.PlacementService/Nope", "/no.such.Service/Score", "/a/b/c", "x"):
        call: Any = rig.channel.unary_unary(method)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(b"")
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    counted = [
        sample for family in rig.registry.collect() for sample in family.samples if "grpc_method" in sample.labels
    ]
    assert counted == []


async def test_the_owner_is_the_kind_of_socket(rig: Rig) -> None:
    """Without authentication all that is known of a caller is where it came in."""
    await rig.placement.Plan(pb.PlanRequest(item=ITEM, owner_token="driver"))  # noqa: S106
    assert rig.service.asked[0].owner == "unix/driver"
    async with serving() as by_port:
        await by_port.placement.Plan(pb.PlanRequest(item=ITEM))
        assert by_port.service.asked[0].owner == "local"


async def test_draining_finishes_calls_refuses_new_ones_and_ends_streams(rig: Rig) -> None:
    """Health says NOT_SERVING first, then streams end; a call in progress gets its answer."""
    await rig.server.set_synced(synced=True)
    health = health_pb2_grpc.HealthStub(rig.channel)
    watch = health.Watch(health_pb2.HealthCheckRequest(service="berth.v1.PlacementService"))
    assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
    rig.service.gate = asyncio.Event()
    in_progress = asyncio.ensure_future(_score(rig))
    await rig.service.entered.wait()
    stopping = asyncio.ensure_future(rig.server.stop(grace=60))
    assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await watch.read()
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert details_of(caught.value)["ErrorInfo"].reason == "SHUTTING_DOWN"
    assert not in_progress.done()
    rig.service.gate.set()
    assert (await in_progress).chosen.name == "py-1"
    await stopping


async def test_a_call_that_arrives_while_draining_is_told_to_go_elsewhere(rig: Rig) -> None:
    """SHUTTING_DOWN is UNAVAILABLE, which clients retry; probes are still answered."""
    rig.server._guard.drain()
    error = await _failure(rig)
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert details_of(error)["ErrorInfo"].reason == "SHUTTING_DOWN"
    assert await rig.health("") == "SERVING"


async def test_draining_goes_on_while_calls_come(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is refused by us; gRPC would cancel those that come just as it stops. It ends when none has come."""
    monkeypatch.setattr("berth_server.rpc.server.DRAIN_LIMIT", 60)
    monkeypatch.setattr("berth_server.rpc.server.DRAIN_QUIET", 0.5)
    draining = asyncio.ensure_future(rig.server.drain())
    reasons = set()
    for _ in range(20):
        reasons.add(details_of(await _failure(rig))["ErrorInfo"].reason)
        assert not draining.done()
    assert reasons == {"SHUTTING_DOWN"}
    await asyncio.wait_for(draining, 30)


async def test_draining_has_a_limit(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller that never gives up does not hold the process."""
    monkeypatch.setattr("berth_server.rpc.server.DRAIN_LIMIT", 0.01)
    monkeypatch.setattr("berth_server.rpc.server.DRAIN_QUIET", 3600)
    await asyncio.wait_for(rig.server.drain(), 30)


async def test_a_grace_that_ends_cancels_what_is_left(rig: Rig) -> None:
    """A call that never ends does not hold the process."""
    rig.service.gate = asyncio.Event()
    stuck = asyncio.ensure_future(_score(rig))
    await rig.service.entered.wait()
    await rig.server.stop(grace=0.01)
    with pytest.raises(grpc.aio.AioRpcError):
        await stuck
    assert await rig.counted("Score", "CANCELLED") == 1


async def _score(rig: Rig) -> pb.ScoreResponse:
    return await rig.placement.Score(SCORE)


async def _answer(call: Any) -> Any:
    return await call


async def _failure(rig: Rig) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await rig.placement.Score(SCORE)
    return caught.value
