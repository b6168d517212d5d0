"""Requests to questions. Every wrong field of a request is found before any of them is reported.

This module must not look at the cluster: whether a name exists is the service's to say.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from google.protobuf.duration_pb2 import Duration

from berth.v1 import inspection_service_pb2 as inspection_pb
from berth.v1 import placement_service_pb2 as placement_pb
from berth.v1 import resources_pb2 as pb
from berth_server.placement.questions import (
    Consistency,
    ExistingRun,
    FilterQuestion,
    HypotheticalRun,
    ItemRef,
    PlanQuestion,
    ReadOptions,
    ScoreQuestion,
    existing,
)
from berth_server.rpc.codec import fields
from berth_server.rpc.codec.manifest import DEFAULT_NAMESPACE, manifest_json
from berth_server.rpc.codec.violations import Violations

DEFAULT_ROWS: Final = 10
DEFAULT_LIST_ROWS: Final = 100
DEFAULT_HOLD: Final = 30.0
MAX_HOLD: Final = 120
_CONSISTENCY: Final = {
    pb.CONSISTENCY_UNSPECIFIED: Consistency.LEADER,
    pb.CONSISTENCY_LEADER: Consistency.LEADER,
    pb.CONSISTENCY_ANY: Consistency.ANY,
}
_WRONG_ITEM: Final = ExistingRun("", "")  # stands in for an item that was recorded as wrong


class RunsPage(NamedTuple):
    """What `Inspection.list_runs` is asked for."""

    namespace: str
    phases: tuple[str, ...]
    page_size: int
    page_token: str


class CandidatesPage(NamedTuple):
    """What `Inspection.list_candidates` is asked for."""

    namespace: str
    runtime: str
    page_size: int
    page_token: str


def filter_question(request: placement_pb.FilterRequest, *, deadline: float | None) -> FilterQuestion:
    """Decode a Filter. Raises PlacementError INVALID_FIELD with all violations, as every function here."""
    check = Violations()
    question = FilterQuestion(
        item=_item(request.item, check),
        read=_read_options(request.read, deadline, check),
        all_plugins=request.all_plugins,
        page_size=fields.row_count(request.page_size, "page_size", check, default=DEFAULT_ROWS),
        page_token=_page_token(request.page_token, check),
    )
    return check.passed(question)


def score_question(request: placement_pb.ScoreRequest, *, deadline: float | None) -> ScoreQuestion:
    """Decode a Score. A candidate named twice is looked at once."""
    check = Violations()
    question = ScoreQuestion(
        item=_item(request.item, check),
        read=_read_options(request.read, deadline, check),
        limit=fields.row_count(request.limit, "limit", check, default=DEFAULT_ROWS),
        candidates=_names(request.candidates, "candidates", check),
    )
    return check.passed(question)


def plan_question(request: placement_pb.PlanRequest, *, identity: str, deadline: float | None) -> PlanQuestion:
    """Decode a Plan of the caller `identity`. Raises also UID_REQUIRED and INLINE_NOT_ALLOWED when it is no dry run."""
    check = Violations()
    question = PlanQuestion(
        item=_item(request.item, check, uid_required=not request.dry_run),
        owner=_owner(identity, request.owner_token, check),
        read=_read_options(request.read, deadline, check),
        hold=_hold(request.hold, check),
        dry_run=request.dry_run,
        attempt_id=fields.bounded(request.attempt_id, "attempt_id", check),
    )
    check.passed(question)
    if not question.dry_run:
        existing(question.item)
    return question


def runs_page(request: inspection_pb.ListRunsRequest) -> RunsPage:
    """Decode a ListRuns. Phases are not checked against a list: a newer CRD may have more."""
    check = Violations()
    page = RunsPage(
        namespace=_namespace(request.namespace, "namespace", check),
        phases=_names(request.phases, "phases", check),
        page_size=fields.row_count(request.page_size, "page_size", check, default=DEFAULT_LIST_ROWS),
        page_token=_page_token(request.page_token, check),
    )
    return check.passed(page)


def candidates_page(request: inspection_pb.ListCandidatesRequest) -> CandidatesPage:
    """Decode a ListCandidates."""
    check = Violations()
    page = CandidatesPage(
        namespace=_namespace(request.namespace, "namespace", check),
        runtime=fields.bounded(request.runtime, "runtime", check),
        page_size=fields.row_count(request.page_size, "page_size", check, default=DEFAULT_LIST_ROWS),
        page_token=_page_token(request.page_token, check),
    )
    return check.passed(page)


def _item(item: pb.Item, check: Violations, *, uid_required: bool = False) -> ItemRef:
    match item.WhichOneof("item"):
        case "run":
            return _existing_run(item.run, check, uid_required=uid_required)
        case "manifest":
            return HypotheticalRun(manifest_json(item.manifest, "item.manifest", check))
        case "pod":
            check.add("item.pod", "this server has no profile for Pods; name a Run in item.run")
        case _:
            check.add("item", "must hold a run or a manifest")
    return _WRONG_ITEM


def _existing_run(key: pb.ObjectKey, check: Violations, *, uid_required: bool) -> ExistingRun:
    run = ExistingRun(
        namespace=_namespace(key.namespace, "item.run.namespace", check) or DEFAULT_NAMESPACE,
        name=fields.required(key.name, "item.run.name", check),
        uid=fields.bounded(key.uid, "item.run.uid", check),
        min_version=fields.resource_version(key.min_resource_version, "item.run.min_resource_version", check),
    )
    if uid_required and not run.uid:
        check.add_missing_uid("item.run.uid")
    return run


def _read_options(read: pb.ReadOptions, deadline: float | None, check: Violations) -> ReadOptions:
    consistency = _CONSISTENCY.get(read.consistency)
    if consistency is None:
        check.add("read.consistency", f"has the unknown value {read.consistency}")
    max_view_age = None
    if read.HasField("max_view_age"):
        max_view_age = fields.seconds(read.max_view_age, "read.max_view_age", check)
    return ReadOptions(
        profile=fields.bounded(read.profile, "read.profile", check),
        max_view_age=max_view_age,
        consistency=consistency or Consistency.LEADER,
        deadline=deadline,
    )


def _hold(hold: Duration, check: Violations) -> float:
    return fields.seconds(hold, "hold", check, most=MAX_HOLD) or DEFAULT_HOLD


def _owner(identity: str, token: str, check: Violations) -> str:
    token = fields.bounded(token, "owner_token", check)
    return f"{identity}/{token}" if token else identity


def _namespace(namespace: str, field: str, check: Violations) -> str:
    return fields.bounded(namespace, field, check, most=fields.MAX_NAMESPACE)


def _page_token(token: str, check: Violations) -> str:
    return fields.bounded(token, "page_token", check, most=fields.MAX_TOKEN)


def _names(values: Sequence[str], field: str, check: Violations) -> tuple[str, ...]:
    if len(values) > fields.MAX_ROWS:
        check.add(field, f"must have at most {fields.MAX_ROWS} entries, not {len(values)}")
        return ()
    for index, value in enumerate(values):
        if not 0 < len(value) <= fields.MAX_NAME:
            check.add(f"{field}[{index}]", f"must have 1 to {fields.MAX_NAME} characters")
    return tuple(dict.fromkeys(values))
