"""Parts that several requests share: items, candidates, read options, holds, owners, names.

Each returns a usable value and records what is wrong; nothing here raises.
"""

from collections.abc import Sequence
from typing import Final

from google.protobuf.duration_pb2 import Duration

from berth.v1 import resources_pb2 as pb
from berth_server.placement.questions import (
    CandidateRef,
    Consistency,
    ExistingRun,
    HypotheticalRun,
    ItemRef,
    ReadOptions,
)
from berth_server.rpc.codec import fields
from berth_server.rpc.codec.manifest import DEFAULT_NAMESPACE, manifest_json
from berth_server.rpc.codec.violations import Violations

DEFAULT_HOLD: Final = 30.0
MAX_HOLD: Final = 120
_CONSISTENCY: Final = {
    pb.CONSISTENCY_UNSPECIFIED: Consistency.LEADER,
    pb.CONSISTENCY_LEADER: Consistency.LEADER,
    pb.CONSISTENCY_ANY: Consistency.ANY,
}
_WRONG_ITEM: Final = ExistingRun("", "")  # stands in for an item that was recorded as wrong


def item_ref(item: pb.Item, field: str, check: Violations, *, uid_required: bool = False) -> ItemRef:
    """What is to be placed. With `uid_required` a Run that exists must say which incarnation is meant."""
    match item.WhichOneof("item"):
        case "run":
            return _existing_run(item.run, f"{field}.run", check, uid_required=uid_required)
        case "manifest":
            return HypotheticalRun(manifest_json(item.manifest, f"{field}.manifest", check))
        case "pod":
            check.add(f"{field}.pod", f"this server has no profile for Pods; name a Run in {field}.run")
        case _:
            check.add(field, "must hold a run or a manifest")
    return _WRONG_ITEM


def _existing_run(key: pb.ObjectKey, field: str, check: Violations, *, uid_required: bool) -> ExistingRun:
    run = ExistingRun(
        namespace=namespace_of(key.namespace, f"{field}.namespace", check) or DEFAULT_NAMESPACE,
        name=fields.required(key.name, f"{field}.name", check),
        uid=fields.bounded(key.uid, f"{field}.uid", check),
        min_version=fields.resource_version(key.min_resource_version, f"{field}.min_resource_version", check),
    )
    if uid_required and not run.uid:
        check.add_missing_uid(f"{field}.uid")
    return run


def candidate_ref(candidate: pb.CandidateRef, field: str, check: Violations) -> CandidateRef:
    """The candidate of a call that changes something: name and uid are both required."""
    ref = CandidateRef(
        name=fields.required(candidate.name, f"{field}.name", check),
        uid=fields.bounded(candidate.uid, f"{field}.uid", check),
    )
    if not ref.uid:
        check.add_missing_uid(f"{field}.uid")
    return ref


def read_options(read: pb.ReadOptions, deadline: float | None, check: Violations) -> ReadOptions:
    """How a read is answered; `deadline` on the monotonic clock."""
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


def hold_seconds(hold: Duration, check: Violations) -> float:
    """Seconds that a reservation is held: unset and 0 are 30, at most 120."""
    return fields.seconds(hold, "hold", check, most=MAX_HOLD) or DEFAULT_HOLD


def owner_of(identity: str, token: str, check: Violations) -> str:
    """Who calls, told apart further by a token of the caller's choice."""
    token = fields.bounded(token, "owner_token", check)
    return f"{identity}/{token}" if token else identity


def namespace_of(namespace: str, field: str, check: Violations) -> str:
    """A namespace; it may be empty."""
    return fields.bounded(namespace, field, check, most=fields.MAX_NAMESPACE)


def page_token(token: str, check: Violations) -> str:
    """What the server gave with the last page; empty for the first."""
    return fields.bounded(token, "page_token", check, most=fields.MAX_TOKEN)


def names(values: Sequence[str], field: str, check: Violations) -> tuple[str, ...]:
    """At most 1000 names, in order, each once."""
    if len(values) > fields.MAX_ROWS:
        check.add(field, f"must have at most {fields.MAX_ROWS} entries, not {len(values)}")
        return ()
    for index, value in enumerate(values):
        if not 0 < len(value) <= fields.MAX_NAME:
            check.add(f"{field}[{index}]", f"must have 1 to {fields.MAX_NAME} characters")
    return tuple(dict.fromkeys(values))
