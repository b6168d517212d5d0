"""A real grpc.aio server in this process, over a fake service, and a channel to it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc.aio
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from prometheus_client import CollectorRegistry

from berth.v1.inspection_service_pb2_grpc import InspectionServiceStub
from berth.v1.placement_service_pb2_grpc import PlacementServiceStub
from berth_server.config.addresses import ListenAddress, TcpAddress, UnixAddress
from berth_server.observability.metrics import Metrics
from berth_server.rpc.server import RpcServer, build_server
from tests.fakes.placement_service import FakeService

ANY_PORT = TcpAddress("127.0.0.1", 0)


@dataclass(frozen=True, slots=True)
class Rig:
    """What a test needs of a server that runs."""

    service: FakeService
    server: RpcServer
    registry: CollectorRegistry
    channel: grpc.aio.Channel

    @property
    def placement(self) -> PlacementServiceStub:
        """A stub without retries."""
        return PlacementServiceStub(self.channel)

    @property
    def inspection(self) -> InspectionServiceStub:
        """A stub without retries."""
        return InspectionServiceStub(self.channel)

    async def health(self, service: str) -> str:
        """Ask grpc.health.v1 and return the name of the status."""
        stub = health_pb2_grpc.HealthStub(self.channel)
        response = await stub.Check(health_pb2.HealthCheckRequest(service=service))
        name: str = health_pb2.HealthCheckResponse.ServingStatus.Name(response.status)
        return name

    def handled(self, method: str, code: str, service: str = "berth.v1.PlacementService") -> float | None:
        """Return how often a method ended with a code, or None if there is no such series."""
        labels = {"grpc_service": service, "grpc_method": method, "grpc_code": code}
        return self.registry.get_sample_value("grpc_server_handled_total", labels)

    async def counted(self, method: str, code: str, service: str = "berth.v1.PlacementService") -> float:
        """Wait until a call is counted that did not end by an answer of ours, and return how often it was."""
        while (count := self.handled(method, code, service)) is None:  # noqa: ASYNC110 - the metric wakes nobody
            await asyncio.sleep(0)
        return count


def build(addresses: Sequence[ListenAddress], service: FakeService | None = None, **options: Any) -> RpcServer:
    """Build a server that is not started."""
    service = service or FakeService()
    return build_server(addresses, service, service, Metrics(CollectorRegistry()), **options)


@asynccontextmanager
async def serving(address: ListenAddress = ANY_PORT, **options: Any) -> AsyncIterator[Rig]:
    """Run a server until the block ends."""
    service, registry = FakeService(), CollectorRegistry()
    server = build_server([address], service, service, Metrics(registry), **options)
    await server.start()
    try:
        async with grpc.aio.insecure_channel(str(server.addresses[0]), options=[("grpc.enable_retries", 0)]) as channel:
            yield Rig(service, server, registry, channel)
    finally:
        await server.stop(5)


def socket_in(directory: Path) -> UnixAddress:
    """Name a socket in a test's directory."""
    return UnixAddress(directory / "berth.sock")


def details_of(error: grpc.aio.AioRpcError) -> dict[str, Any]:
    """Return the google.rpc details of an error by the name of their type."""
    trailers = dict(error.trailing_metadata())
    status = status_pb2.Status.FromString(trailers["grpc-status-details-bin"])
    assert status.code == error.code().value[0]
    assert status.message == error.details()
    found: dict[str, Any] = {}
    for packed in status.details:
        name = packed.TypeName().removeprefix("google.rpc.")
        message = getattr(error_details_pb2, name)()
        assert packed.Unpack(message)
        assert name not in found
        found[name] = message
    return found


def violations_of(error: grpc.aio.AioRpcError) -> list[tuple[str, str]]:
    """Return field and description of every violation."""
    return [(each.field, each.description) for each in details_of(error)["BadRequest"].field_violations]
