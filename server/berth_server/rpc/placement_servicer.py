"""berth.v1.PlacementService: decode, ask the service, encode. Nothing is decided here."""

from collections.abc import Awaitable

import grpc.aio

from berth.v1 import placement_service_pb2 as pb
from berth.v1.placement_service_pb2_grpc import PlacementServiceServicer
from berth_server.placement.ports import Service
from berth_server.rpc.codec import decode, encode
from berth_server.rpc.deadlines import Deadlines

UNIX_IDENTITY = "unix"
LOCAL_IDENTITY = "local"


class PlacementServicer(PlacementServiceServicer):
    """Answers over the service that it is given. Raises what the service raises; the guard maps it."""

    def __init__(self, service: Service, deadlines: Deadlines) -> None:
        self._service = service
        self._deadlines = deadlines

    async def Filter(  # noqa: N802 - named in the proto
        self,
        request: pb.FilterRequest,
        context: grpc.aio.ServicerContext[pb.FilterRequest, Awaitable[pb.FilterResponse]],
    ) -> pb.FilterResponse:
        """Judge every candidate."""
        question = decode.filter_question(request, deadline=self._deadlines.until(context))
        return encode.filter_response(await self._service.filter(question))

    async def Score(  # noqa: N802 - named in the proto
        self,
        request: pb.ScoreRequest,
        context: grpc.aio.ServicerContext[pb.ScoreRequest, Awaitable[pb.ScoreResponse]],
    ) -> pb.ScoreResponse:
        """Rank the feasible candidates."""
        question = decode.score_question(request, deadline=self._deadlines.until(context))
        return encode.score_response(await self._service.score(question))

    async def Plan(  # noqa: N802 - named in the proto
        self,
        request: pb.PlanRequest,
        context: grpc.aio.ServicerContext[pb.PlanRequest, Awaitable[pb.PlanResponse]],
    ) -> pb.PlanResponse:
        """Decide, and reserve unless it is a dry run."""
        question = decode.plan_question(
            request, identity=identity_of(context.peer()), deadline=self._deadlines.until(context)
        )
        return encode.plan_response(await self._service.plan(question))

    async def PlanBatch(  # noqa: N802 - named in the proto
        self,
        request: pb.PlanBatchRequest,
        context: grpc.aio.ServicerContext[pb.PlanBatchRequest, Awaitable[pb.PlanBatchResponse]],
    ) -> pb.PlanBatchResponse:
        """Plan one after another; a failed one does not end the others."""
        batch = decode.plan_batch(
            request, identity=identity_of(context.peer()), deadline=self._deadlines.until(context)
        )
        return encode.plan_batch_response(await self._service.plan_batch(batch))

    async def Reserve(  # noqa: N802 - named in the proto
        self,
        request: pb.ReserveRequest,
        context: grpc.aio.ServicerContext[pb.ReserveRequest, Awaitable[pb.ReserveResponse]],
    ) -> pb.ReserveResponse:
        """Take room on one named candidate."""
        question = decode.reserve_question(
            request, identity=identity_of(context.peer()), deadline=self._deadlines.until(context)
        )
        return encode.reserve_response(await self._service.reserve(question))

    async def Release(  # noqa: N802 - named in the proto
        self,
        request: pb.ReleaseRequest,
        context: grpc.aio.ServicerContext[pb.ReleaseRequest, Awaitable[pb.ReleaseResponse]],
    ) -> pb.ReleaseResponse:
        """Give room back."""
        question = decode.release_question(request, identity=identity_of(context.peer()))
        return pb.ReleaseResponse(released=await self._service.release(question))

    async def Bind(  # noqa: N802 - named in the proto
        self,
        request: pb.BindRequest,
        context: grpc.aio.ServicerContext[pb.BindRequest, Awaitable[pb.BindResponse]],
    ) -> pb.BindResponse:
        """Assign, and answer when the outcome is known."""
        question = decode.bind_question(
            request, identity=identity_of(context.peer()), deadline=self._deadlines.until(context)
        )
        return encode.bind_response(await self._service.bind(question))


def identity_of(peer: str) -> str:
    """Who calls, as far as that is known without authentication: the kind of socket that let the caller in."""
    return UNIX_IDENTITY if peer.startswith("unix:") else LOCAL_IDENTITY
