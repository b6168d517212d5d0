"""Requests of PlacementService to questions. Every wrong field of a request is found before any of them is reported.

This module must not look at the cluster: whether a name exists is the service's to say. Every function raises
PlacementError INVALID_FIELD with all violations; those of calls that change something also UID_REQUIRED and
INLINE_NOT_ALLOWED.
"""

from collections.abc import Sequence
from typing import Final

from berth.v1 import placement_service_pb2 as pb
from berth_server.placement.answers import Failure
from berth_server.placement.failures import PlacementError
from berth_server.placement.questions import (
    BindQuestion,
    FilterQuestion,
    PlanQuestion,
    ReleaseQuestion,
    ReserveQuestion,
    ScoreQuestion,
    existing,
)
from berth_server.rpc.codec import fields, parts
from berth_server.rpc.codec.violations import Violations

DEFAULT_ROWS: Final = 10
MAX_BATCH: Final = 1000


def filter_question(request: pb.FilterRequest, *, deadline: float | None) -> FilterQuestion:
    """Decode a Filter."""
    check = Violations()
    question = FilterQuestion(
        item=parts.item_ref(request.item, "item", check),
        read=parts.read_options(request.read, deadline, check),
        all_plugins=request.all_plugins,
        page_size=fields.row_count(request.page_size, "page_size", check, default=DEFAULT_ROWS),
        page_token=parts.page_token(request.page_token, check),
    )
    return check.passed(question)


def score_question(request: pb.ScoreRequest, *, deadline: float | None) -> ScoreQuestion:
    """Decode a Score. A candidate named twice is looked at once."""
    check = Violations()
    question = ScoreQuestion(
        item=parts.item_ref(request.item, "item", check),
        read=parts.read_options(request.read, deadline, check),
        limit=fields.row_count(request.limit, "limit", check, default=DEFAULT_ROWS),
        candidates=parts.names(request.candidates, "candidates", check),
    )
    return check.passed(question)


def plan_question(request: pb.PlanRequest, *, identity: str, deadline: float | None) -> PlanQuestion:
    """Decode a Plan of the caller `identity`. A dry run needs no uid, and its item need not exist."""
    check = Violations()
    question = PlanQuestion(
        item=parts.item_ref(request.item, "item", check, uid_required=not request.dry_run),
        owner=parts.owner_of(identity, request.owner_token, check),
        read=parts.read_options(request.read, deadline, check),
        hold=parts.hold_seconds(request.hold, check),
        dry_run=request.dry_run,
        attempt_id=fields.bounded(request.attempt_id, "attempt_id", check),
    )
    check.passed(question)
    if not question.dry_run:
        existing(question.item)
    return question


def plan_batch(
    request: pb.PlanBatchRequest, *, identity: str, deadline: float | None
) -> Sequence[PlanQuestion | Failure]:
    """Decode many Plans. A wrong one becomes a Failure in its place and does not end the others."""
    if len(request.plans) > MAX_BATCH:
        check = Violations()
        check.add("plans", f"must have at most {MAX_BATCH} entries, not {len(request.plans)}")
        check.passed(None)
    batch: list[PlanQuestion | Failure] = []
    for plan in request.plans:
        try:
            batch.append(plan_question(plan, identity=identity, deadline=deadline))
        except PlacementError as error:
            batch.append(Failure(error.reason, error.message, error.metadata))
    return batch


def reserve_question(request: pb.ReserveRequest, *, identity: str, deadline: float | None) -> ReserveQuestion:
    """Decode a Reserve of the caller `identity`."""
    check = Violations()
    item = parts.item_ref(request.item, "item", check, uid_required=True)
    candidate = parts.candidate_ref(request.candidate, "candidate", check)
    owner = parts.owner_of(identity, request.owner_token, check)
    hold = parts.hold_seconds(request.hold, check)
    profile = fields.bounded(request.profile, "profile", check)
    check.passed(None)
    return ReserveQuestion(existing(item), candidate, owner, hold=hold, profile=profile, deadline=deadline)


def release_question(request: pb.ReleaseRequest, *, identity: str) -> ReleaseQuestion:
    """Decode a Release of the caller `identity`."""
    check = Violations()
    question = ReleaseQuestion(
        reservation_id=fields.required(request.reservation_id, "reservation_id", check),
        owner=parts.owner_of(identity, request.owner_token, check),
    )
    return check.passed(question)


def bind_question(request: pb.BindRequest, *, identity: str, deadline: float | None) -> BindQuestion:
    """Decode a Bind of the caller `identity`, by reservation or by item and candidate."""
    check = Violations()
    owner = parts.owner_of(identity, request.owner_token, check)
    attempt_id = fields.bounded(request.attempt_id, "attempt_id", check)
    if request.HasField("target"):
        item = parts.item_ref(request.target.item, "target.item", check, uid_required=True)
        candidate = parts.candidate_ref(request.target.candidate, "target.candidate", check)
        check.passed(None)
        return BindQuestion((existing(item), candidate), owner, attempt_id, deadline)
    if not request.reservation_id:
        check.add("reservation_id", "must be given, or a target in its place")
    reservation_id = fields.bounded(request.reservation_id, "reservation_id", check)
    return check.passed(BindQuestion(reservation_id, owner, attempt_id, deadline))
