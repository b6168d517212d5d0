"""Builds the gRPC server: services, health, reflection, options, listeners. It must not decide what is healthy."""

from collections.abc import Sequence
from typing import Any, Final

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

from berth.v1 import inspection_service_pb2, placement_service_pb2
from berth.v1.inspection_service_pb2_grpc import add_InspectionServiceServicer_to_server
from berth.v1.placement_service_pb2_grpc import add_PlacementServiceServicer_to_server
from berth_server.config.addresses import ListenAddress
from berth_server.observability.metrics import Metrics
from berth_server.placement.ports import Inspection, Service
from berth_server.rpc.admission import DEFAULT_LIMIT, Admission
from berth_server.rpc.deadlines import Deadlines
from berth_server.rpc.inspection_servicer import InspectionServicer
from berth_server.rpc.interceptors import CallInterceptor
from berth_server.rpc.listeners import check_addresses, open_address
from berth_server.rpc.placement_servicer import PlacementServicer

MAX_REQUEST_BYTES: Final = 4 * 2**20
MAX_RESPONSE_BYTES: Final = 16 * 2**20
PLACEMENT: Final = placement_service_pb2.DESCRIPTOR.services_by_name["PlacementService"].full_name
INSPECTION: Final = inspection_service_pb2.DESCRIPTOR.services_by_name["InspectionService"].full_name
WRITER: Final = "berth.v1.Writer"  # no service: the health of the one replica that decides
_REFLECTION_V1: Final = "grpc.reflection.v1.ServerReflection"
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

    def __init__(
        self, server: grpc.aio.Server, interceptor: CallInterceptor, addresses: Sequence[ListenAddress]
    ) -> None:
        """Wire health into `server`. `addresses`: what it listens on, with real ports."""
        self.addresses = tuple(addresses)
        self._server = server
        self._interceptor = interceptor
        self._health = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)

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

    async def stop(self, grace: float) -> None:
        """Say NOT_SERVING, refuse new calls, let those in progress end for `grace` seconds, then cancel them."""
        await self._health.enter_graceful_shutdown()
        self._interceptor.drain()
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
) -> RpcServer:
    """Return a server that listens on `addresses` and is not started yet. Needs a running event loop.

    Raises ListenError, before anything is opened where that is possible.
    """
    check_addresses(addresses)
    deadlines = deadlines or Deadlines()
    interceptor = CallInterceptor(Admission(call_limit), metrics, deadlines)
    server = grpc.aio.server(interceptors=[interceptor], options=OPTIONS)
    # Methods that the servicer lacks answer UNIMPLEMENTED.
    placement = PlacementServicer(service, deadlines)  # type: ignore[abstract]
    add_PlacementServiceServicer_to_server(placement, server)
    add_InspectionServiceServicer_to_server(InspectionServicer(inspection), server)  # type: ignore[abstract]
    if reflection_enabled:
        _add_reflection(server)
    return RpcServer(server, interceptor, [open_address(server, address) for address in addresses])


def _add_reflection(server: grpc.aio.Server) -> None:
    """Serve v1alpha, and under the name of v1 the same handler: the messages are the same on the wire."""
    names = (PLACEMENT, INSPECTION, health.SERVICE_NAME, reflection.SERVICE_NAME)
    reflection.enable_server_reflection(names, server)
    servicer: Any = reflection.aio.ReflectionServicer(names)
    handler = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    methods = {"ServerReflectionInfo": handler}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_REFLECTION_V1, methods),))
