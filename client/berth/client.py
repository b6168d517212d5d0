"""The async client: one method for each RPC, plain arguments in, the API's own messages out.

    async with berth.Client("127.0.0.1:50051") as client:
        answer = await client.score("team-a/train-7")
        print(answer.chosen.name)

Nothing is decided here, and nothing is remembered between calls.
"""

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import grpc.aio

from berth.channel import DEFAULT_TARGET, open_channel
from berth.errors import BerthError
from berth.items import ItemLike, to_item
from berth.v1 import inspection_service_pb2 as inspection_pb
from berth.v1 import placement_service_pb2 as placement_pb
from berth.v1 import resources_pb2 as pb
from berth.v1.inspection_service_pb2_grpc import InspectionServiceStub
from berth.v1.placement_service_pb2_grpc import PlacementServiceStub

DEFAULT_DEADLINE: Final = 10.0
_NANO: Final = 10**9
Request = TypeVar("Request")
Response = TypeVar("Response")


class Client:
    """A connection to one server, open inside `async with`. Safe for any number of concurrent calls on one loop.

    Every method raises BerthError and nothing else for a call that fails. `deadline`: seconds for one call, retries
    included. `max_view_age`: seconds; an older view is refused. `any_replica`: also a replica that does not lead may
    answer a read.
    """

    def __init__(
        self,
        target: str = DEFAULT_TARGET,
        *,
        deadline: float = DEFAULT_DEADLINE,
        options: Sequence[tuple[str, Any]] = (),
    ) -> None:
        """Remember where to connect; `options` are gRPC channel arguments."""
        self.target = target
        self._deadline = deadline
        self._options = options
        self._connection: _Connection | None = None

    async def __aenter__(self) -> Self:
        self._connection = _Connection(open_channel(self.target, options=self._options))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; calls in progress are cancelled. Closing twice does nothing."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.channel.close()

    async def filter(
        self,
        item: ItemLike,
        *,
        all_plugins: bool = False,
        page_size: int = 0,
        page_token: str = "",
        profile: str = "",
        max_view_age: float | None = None,
        any_replica: bool = False,
    ) -> placement_pb.FilterResponse:
        """Say for every candidate whether it could take the item, and if not, why. Changes nothing."""
        request = placement_pb.FilterRequest(
            item=to_item(item),
            read=_read_options(profile, max_view_age, any_replica=any_replica),
            all_plugins=all_plugins,
            page_size=page_size,
            page_token=page_token,
        )
        return await self._call(self._open.placement.Filter, request)

    async def score(
        self,
        item: ItemLike,
        *,
        limit: int = 0,
        candidates: Sequence[str] = (),
        profile: str = "",
        max_view_age: float | None = None,
        any_replica: bool = False,
    ) -> placement_pb.ScoreResponse:
        """Rank the feasible candidates, or those named, and name the one that would be taken. Changes nothing."""
        request = placement_pb.ScoreRequest(
            item=to_item(item),
            read=_read_options(profile, max_view_age, any_replica=any_replica),
            limit=limit,
            candidates=candidates,
        )
        return await self._call(self._open.placement.Score, request)

    async def plan(
        self,
        item: ItemLike,
        *,
        dry_run: bool = False,
        hold: float | None = None,
        attempt_id: str = "",
        owner_token: str = "",
        profile: str = "",
        max_view_age: float | None = None,
    ) -> placement_pb.PlanResponse:
        """Decide where the item goes and reserve the room for `hold` seconds (30); a dry run changes nothing.

        The outcome is the response's `result`: "nothing fits" is one of them, not an error. Needs the item's uid
        unless it is a dry run.
        """
        request = placement_pb.PlanRequest(
            item=to_item(item),
            read=_read_options(profile, max_view_age, any_replica=False),
            dry_run=dry_run,
            attempt_id=attempt_id,
            owner_token=owner_token,
        )
        if hold is not None:
            request.hold.FromNanoseconds(round(hold * _NANO))
        return await self._call(self._open.placement.Plan, request)

    async def plan_batch(self, plans: Sequence[placement_pb.PlanRequest]) -> placement_pb.PlanBatchResponse:
        """Plan strictly one after another: one result each, in order. A failed one does not end the others."""
        return await self._call(self._open.placement.PlanBatch, placement_pb.PlanBatchRequest(plans=plans))

    async def reserve(
        self,
        item: ItemLike,
        candidate: pb.CandidateRef,
        *,
        hold: float | None = None,
        owner_token: str = "",
        profile: str = "",
    ) -> placement_pb.ReserveResponse:
        """Take room on that candidate for `hold` seconds (30); the same call again renews it.

        Item and candidate need their uid, as a score or filter gave them.
        """
        request = placement_pb.ReserveRequest(
            item=to_item(item), candidate=candidate, owner_token=owner_token, profile=profile
        )
        if hold is not None:
            request.hold.FromNanoseconds(round(hold * _NANO))
        return await self._call(self._open.placement.Reserve, request)

    async def release(self, reservation_id: str, *, owner_token: str = "") -> bool:
        """Give the room of a held reservation back; False if there was none."""
        request = placement_pb.ReleaseRequest(reservation_id=reservation_id, owner_token=owner_token)
        return (await self._call(self._open.placement.Release, request)).released

    async def bind(
        self,
        what: "str | tuple[ItemLike, pb.CandidateRef]",
        *,
        attempt_id: str = "",
        owner_token: str = "",
    ) -> placement_pb.BindResponse:
        """Assign what a reservation (by id) names, or an item to a candidate, which is reserved first.

        Answers when the outcome is known. Past the deadline the write goes on being settled; calling again joins it.
        """
        request = placement_pb.BindRequest(attempt_id=attempt_id, owner_token=owner_token)
        if isinstance(what, str):
            request.reservation_id = what
        else:
            item, candidate = what
            request.target.CopyFrom(placement_pb.BindTarget(item=to_item(item), candidate=candidate))
        return await self._call(self._open.placement.Bind, request)

    async def list_runs(
        self, *, namespace: str = "", phases: Sequence[str] = (), page_size: int = 0, page_token: str = ""
    ) -> inspection_pb.ListRunsResponse:
        """List the Runs in view, one page; empty `namespace` and `phases` mean all."""
        request = inspection_pb.ListRunsRequest(
            namespace=namespace, phases=phases, page_size=page_size, page_token=page_token
        )
        return await self._call(self._open.inspection.ListRuns, request)

    async def list_candidates(
        self, *, namespace: str = "", runtime: str = "", page_size: int = 0, page_token: str = ""
    ) -> inspection_pb.ListCandidatesResponse:
        """List the Runtime Pods in view with capacity and use, one page; empty `namespace` and `runtime` mean all."""
        request = inspection_pb.ListCandidatesRequest(
            namespace=namespace, runtime=runtime, page_size=page_size, page_token=page_token
        )
        return await self._call(self._open.inspection.ListCandidates, request)

    async def list_reservations(
        self, *, namespace: str = "", page_size: int = 0, page_token: str = ""
    ) -> inspection_pb.ListReservationsResponse:
        """List the room that is taken and not yet seen as assigned, oldest first, one page."""
        request = inspection_pb.ListReservationsRequest(namespace=namespace, page_size=page_size, page_token=page_token)
        return await self._call(self._open.inspection.ListReservations, request)

    async def list_pending(
        self, *, namespace: str = "", page_size: int = 0, page_token: str = ""
    ) -> inspection_pb.ListPendingResponse:
        """List what waits in the queue, next first, one page."""
        request = inspection_pb.ListPendingRequest(namespace=namespace, page_size=page_size, page_token=page_token)
        return await self._call(self._open.inspection.ListPending, request)

    async def server_info(self) -> inspection_pb.GetServerInfoResponse:
        """Tell version, role, ages of the views, profiles and counts of the server that answers."""
        return await self._call(self._open.inspection.GetServerInfo, inspection_pb.GetServerInfoRequest())

    @property
    def _open(self) -> "_Connection":
        if self._connection is None:
            raise RuntimeError("the client is not open: use it inside `async with`")
        return self._connection

    async def _call(self, method: "grpc.aio.UnaryUnaryMultiCallable[Request, Response]", request: Request) -> Response:
        try:
            return await method(request, timeout=self._deadline)
        except grpc.aio.AioRpcError as error:
            raise BerthError.from_rpc_error(error) from error


class _Connection:
    """A channel and the stubs on it, made once."""

    __slots__ = ("channel", "inspection", "placement")

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.channel = channel
        self.placement = PlacementServiceStub(channel)
        self.inspection = InspectionServiceStub(channel)


def _read_options(profile: str, max_view_age: float | None, *, any_replica: bool) -> pb.ReadOptions:
    consistency = pb.CONSISTENCY_ANY if any_replica else pb.CONSISTENCY_LEADER
    read = pb.ReadOptions(profile=profile, consistency=consistency)
    if max_view_age is not None:
        read.max_view_age.FromNanoseconds(round(max_view_age * _NANO))
    return read
