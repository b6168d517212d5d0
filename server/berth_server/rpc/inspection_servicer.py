"""berth.v1.InspectionService: decode, ask the inspection, encode. Nothing is decided here."""

from collections.abc import Awaitable

import grpc.aio

from berth.v1 import inspection_service_pb2 as pb
from berth.v1.inspection_service_pb2_grpc import InspectionServiceServicer
from berth_server.placement.ports import Inspection
from berth_server.rpc.codec import decode_inspection, encode_inspection


class InspectionServicer(InspectionServiceServicer):
    """Answers over the inspection that it is given. Raises what that raises; the guard maps it."""

    def __init__(self, inspection: Inspection) -> None:
        self._inspection = inspection

    async def ListRuns(  # noqa: N802 - named in the proto
        self,
        request: pb.ListRunsRequest,
        context: grpc.aio.ServicerContext[pb.ListRunsRequest, Awaitable[pb.ListRunsResponse]],  # noqa: ARG002
    ) -> pb.ListRunsResponse:
        """List the Runs in view."""
        page = decode_inspection.runs_page(request)
        return encode_inspection.runs_response(await self._inspection.list_runs(**page._asdict()))

    async def ListCandidates(  # noqa: N802 - named in the proto
        self,
        request: pb.ListCandidatesRequest,
        context: grpc.aio.ServicerContext[pb.ListCandidatesRequest, Awaitable[pb.ListCandidatesResponse]],  # noqa: ARG002
    ) -> pb.ListCandidatesResponse:
        """List the Runtime Pods in view."""
        page = decode_inspection.candidates_page(request)
        return encode_inspection.candidates_response(await self._inspection.list_candidates(**page._asdict()))

    async def ListReservations(  # noqa: N802 - named in the proto
        self,
        request: pb.ListReservationsRequest,
        context: grpc.aio.ServicerContext[pb.ListReservationsRequest, Awaitable[pb.ListReservationsResponse]],  # noqa: ARG002
    ) -> pb.ListReservationsResponse:
        """List the room that is taken and not yet seen as assigned."""
        page = decode_inspection.namespace_page(request)
        return encode_inspection.reservations_response(await self._inspection.list_reservations(**page._asdict()))

    async def ListPending(  # noqa: N802 - named in the proto
        self,
        request: pb.ListPendingRequest,
        context: grpc.aio.ServicerContext[pb.ListPendingRequest, Awaitable[pb.ListPendingResponse]],  # noqa: ARG002
    ) -> pb.ListPendingResponse:
        """List what waits in the queue."""
        page = decode_inspection.namespace_page(request)
        return encode_inspection.pending_response(await self._inspection.list_pending(**page._asdict()))

    async def GetServerInfo(  # noqa: N802 - named in the proto
        self,
        request: pb.GetServerInfoRequest,  # noqa: ARG002 - it has no fields
        context: grpc.aio.ServicerContext[pb.GetServerInfoRequest, Awaitable[pb.GetServerInfoResponse]],  # noqa: ARG002
    ) -> pb.GetServerInfoResponse:
        """Tell who answers."""
        return encode_inspection.server_info_response(await self._inspection.server_info())
