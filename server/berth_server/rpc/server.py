"""Builds the gRPC server: services, health, reflection, options, listeners. It must not decide what is healthy."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, cast

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from berth.v1 import inspection_service_pb2, placement_service_pb2
from berth.v1.inspection_service_pb2_grpc import add_InspectionServiceServicer_to_server
from berth.v1.placement_service_pb2_grpc import add_PlacementServiceServicer_to_server
from berth_server.config.addresses import ListenAddress
from berth_server.observability.metrics import Metrics
from berth_server.observability.tracing import OtelTracer
from berth_server.placement.ports import Inspection, Service
from berth_server.rpc.admission import DEFAULT_LIMIT, Admission
from berth_server.rpc.deadlines import Deadlines
from berth_server.rpc.guard import CallGuard
from berth_server.rpc.inspection_servicer import InspectionServicer
from berth_server.rpc.listeners import check_addresses, open_address
from berth_server.rpc.placement_servicer import PlacementServicer
from berth_server.rpc.reflection import SERVICE_NAME as REFLECTION
from berth_server.rpc.reflection import add_reflection

MAX_REQUEST_BYTES: Final = 4 * 2**20
MAX_RESPONSE_BYTES: Final = 16 * 2**20
PLACEMENT: Final = placement_service_pb2.DESCRIPTOR.services_by_name["PlacementService"].full_name
INSPECTION: Final = inspection_service_pb2.DESCRIPTOR.services_by_name["InspectionService"].full_name
WRITER: Final = "berth.v1.Writer"  # no service: the health of the one replica that decides
DRAIN_QUIET: Final = 0.1
DRAIN_LIMIT: Final = 2.0
_MINUTE: Final = 60_000

OPTIONS: Final = (
    ("grpc.so_reuseport", 0),  # else a second server shares the port without an error
    ("grpc.max_receive_message_length", MAX_REQUEST_BYTES),
    ("grpc.max_send_message_length", MAX_RESPONSE_BYTES),
    # Go clients ping every 10 s; the default minimum of 5 min would end their connections with too_many_pings.
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.keepalive_time_ms", _MINUTE),
    ("grpc.keepalive_timeout_ms", 20_000),
    # Connections end now and then, so that clients find new replicas.
    ("grpc.max_connection_age_ms", 30 * _MINUTE),
    ("grpc.max_connection_age_grace_ms", _MINUTE),
)


class RpcServer:
    """The gRPC side of one process: started once, stopped once. Health follows what `set_synced` and `set_writer` say.

    Health of "" is SERVING from start to stop; of the services not before `set_synced(True)`.
    """

    def __init__(self, server: grpc.aio.Server, guard: CallGuard, addresses: Sequence[ListenAddress]) -> None:
        """Wire health into `server`. `addresses`: what it listens on, with real ports."""
        self.addresses = tuple(addresses)
        self._server = server
        self._guard = guard
        self._health = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, guard)

    async def start(self) -> None:
        """Serve. The services are NOT_SERVING until told otherwise."""
        await self.set_synced(synced=False)
        await self.set_writer(writer=False)
        await self._server.start()

    async def set_synced(self, *, synced: bool) -> None:
        """Say whether the view is complete, that is, whether the services can answer."""
        await self._set_health(PLACEMENT, serving=synced)
        await self._set_health(INSPECTION, serving=synced)

    async def set_writer(self, *, writer: bool) -> None:
        """Say whether this process decides: it leads, with a fresh view."""
        await self._set_health(WRITER, serving=writer)

    async def drain(self) -> None:
        """Say NOT_SERVING and refuse new calls, until for a moment none has come; at most DRAIN_LIMIT seconds.

        gRPC cancels, as if it had been begun, a call that comes at the moment at which it stops. A call that is refused
        here can safely be sent to another replica.
        """
        await self._health.enter_graceful_shutdown()
        self._guard.drain()
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_LIMIT):
                seen = -1
                while seen != self._guard.turned_away:
                    seen = self._guard.turned_away
                    await asyncio.sleep(DRAIN_QUIET)

    async def stop(self, grace: float) -> None:
        """Say NOT_SERVING, refuse new calls, let those in progress end for `grace` seconds, then cancel them."""
        await self._health.enter_graceful_shutdown()
        self._guard.drain()
        await self._server.stop(grace)

    async def _set_health(self, service: str, *, serving: bool) -> None:
        states = health_pb2.HealthCheckResponse
        await self._health.set(service, states.SERVING if serving else states.NOT_SERVING)


def build_server(
    addresses: Sequence[ListenAddress],
    service: Service,
    inspection: Inspection,
    metrics: Metrics,
    *,
    reflection_enabled: bool = True,
    call_limit: int = DEFAULT_LIMIT,
    deadlines: Deadlines | None = None,
    tracer: OtelTracer | None = None,
) -> RpcServer:
    """Return a server that listens on `addresses` and is not started yet. Needs a running event loop.

    Raises ListenError, before anything is opened where that is possible.
    """
    check_addresses(addresses)
    deadlines = deadlines or Deadlines()
    server = grpc.aio.server(options=OPTIONS)
    guard = CallGuard(server, Admission(call_limit), metrics, deadlines, tracer)
    # The generated code asks a server only to add handlers.
    registrar = cast("grpc.aio.Server", guard)
    add_PlacementServiceServicer_to_server(PlacementServicer(service, deadlines), registrar)
    add_InspectionServiceServicer_to_server(InspectionServicer(inspection), registrar)
    if reflection_enabled:
        add_reflection(registrar, (PLACEMENT, INSPECTION, health.SERVICE_NAME, REFLECTION))
    return RpcServer(server, guard, [open_address(server, address) for address in addresses])
