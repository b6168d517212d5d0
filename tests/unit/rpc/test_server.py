"""Health, reflection and the limits of messages."""

from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2

from berth.v1 import placement_service_pb2 as pb
from berth.v1 import resources_pb2
from berth_server.placement import answers
from tests.fakes.placement_service import make_pod
from tests.unit.rpc.rig import Rig, serving, socket_in

PLACEMENT = "berth.v1.PlacementService"
INSPECTION = "berth.v1.InspectionService"
WRITER = "berth.v1.Writer"
ITEM = resources_pb2.Item(run=resources_pb2.ObjectKey(name="train", uid="u"))


async def test_health_follows_sync_and_leadership(rig: Rig) -> None:
    """The process is alive from the start, the services serve when synced, the writer when it leads."""

    async def states() -> list[str]:
        return [await rig.health(name) for name in ("", PLACEMENT, INSPECTION, WRITER)]

    assert await states() == ["SERVING", "NOT_SERVING", "NOT_SERVING", "NOT_SERVING"]
    await rig.server.set_synced(synced=True)
    assert await states() == ["SERVING", "SERVING", "SERVING", "NOT_SERVING"]
    await rig.server.set_writer(writer=True)
    assert await states() == ["SERVING", "SERVING", "SERVING", "SERVING"]
    await rig.server.set_synced(synced=False)
    await rig.server.set_writer(writer=False)
    assert await states() == ["SERVING", "NOT_SERVING", "NOT_SERVING", "NOT_SERVING"]


async def test_health_of_a_stranger_is_not_found(rig: Rig) -> None:
    """An unknown service is NOT_FOUND, as grpc.health.v1 says."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await rig.health("no.such.Service")
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    assert await rig.counted("Check", "NOT_FOUND", "grpc.health.v1.Health") == 1


async def test_health_can_be_watched(rig: Rig) -> None:
    """A watcher sees every change without asking again."""
    stub = health_pb2_grpc.HealthStub(rig.channel)
    watch = stub.Watch(health_pb2.HealthCheckRequest(service=PLACEMENT))
    assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
    await rig.server.set_synced(synced=True)
    assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
    watch.cancel()


@pytest.mark.parametrize("version", ["v1alpha", "v1"])
async def test_reflection_lists_the_services(rig: Rig, version: str) -> None:
    """Both names of the protocol answer the same; v1, an alias, is not listed."""
    response = await _reflect(rig, version, reflection_pb2.ServerReflectionRequest(list_services=""))
    names = [service.name for service in response.list_services_response.service]
    assert names == [
        INSPECTION,
        PLACEMENT,
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
    ]


@pytest.mark.parametrize("version", ["v1alpha", "v1"])
@pytest.mark.parametrize(
    "symbol",
    [
        pytest.param(PLACEMENT, id="service"),
        pytest.param(f"{PLACEMENT}.Score", id="method"),
        pytest.param("berth.v1.ScoreRequest", id="message"),
        pytest.param("berth.v1.ScoreRequest.limit", id="field"),
        pytest.param("berth.v1.BindOutcome", id="enum"),
    ],
)
async def test_reflection_describes_every_symbol(rig: Rig, version: str, symbol: str) -> None:
    """A client without proto files can learn services and messages by any name in them."""
    request = reflection_pb2.ServerReflectionRequest(file_containing_symbol=symbol)
    response = await _reflect(rig, version, request)
    assert any(b"PlacementService" in each for each in response.file_descriptor_response.file_descriptor_proto)


@pytest.mark.parametrize("symbol", ["berth.v1.PlacementService.Nope", "nope"])
async def test_reflection_says_what_it_does_not_know(rig: Rig, symbol: str) -> None:
    """As an answer, so that the stream goes on."""
    request = reflection_pb2.ServerReflectionRequest(file_containing_symbol=symbol)
    response = await _reflect(rig, "v1", request)
    assert response.error_response.error_code == grpc.StatusCode.NOT_FOUND.value[0]


@pytest.mark.parametrize("version", ["v1alpha", "v1"])
async def test_reflection_can_be_switched_off(tmp_path: Path, version: str) -> None:
    """Without reflection neither name exists."""
    async with serving(socket_in(tmp_path), reflection_enabled=False) as rig:
        # Nothing is sent: whether a message or the refusal comes first is the client library's race.
        stream: Any = rig.channel.stream_stream(_reflection_method(version))()
        assert await stream.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_a_request_over_4_mib_is_refused(rig: Rig) -> None:
    """The limit on requests is the server's, not the library's."""
    just_below = pb.PlanRequest(item=ITEM, owner_token="x" * (4 * 2**20 - 100))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await rig.placement.Plan(just_below)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    above = pb.PlanRequest(item=ITEM, owner_token="x" * (4 * 2**20))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await rig.placement.Plan(above)
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_an_answer_may_have_more_than_4_mib(rig: Rig) -> None:
    """Answers are larger than requests; a client that wants them says so."""
    rig.service.result = answers.Fits(make_pod(1), group="g" * (5 * 2**20))
    options = [("grpc.max_receive_message_length", 16 * 2**20)]
    async with grpc.aio.insecure_channel(str(rig.server.addresses[0]), options=options) as channel:
        call: Any = channel.unary_unary(
            f"/{PLACEMENT}/Plan",
            request_serializer=pb.PlanRequest.SerializeToString,
            response_deserializer=pb.PlanResponse.FromString,
        )
        response = await call(pb.PlanRequest(item=ITEM))
    assert len(response.fits.group) == 5 * 2**20


def _reflection_method(version: str) -> str:
    return f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo"


async def _reflect(
    rig: Rig, version: str, request: reflection_pb2.ServerReflectionRequest
) -> reflection_pb2.ServerReflectionResponse:
    call: Any = rig.channel.stream_stream(
        _reflection_method(version),
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )
    stream = call(iter([request]))
    responses = [response async for response in stream]
    assert len(responses) == 1
    return responses[0]
