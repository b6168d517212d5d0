"""What is answered, as plain values: the responses of the gRPC API without protobuf."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Generic, TypeVar

from berth_server.placement.failures import Reason
from berth_server.placement.questions import CandidateRef, ExistingRun

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """What an answer was computed on. `view_age` in seconds."""

    instance: str
    generation: int
    pool_epoch: str
    evaluated_at: datetime
    view_age: float
    leader: bool = True
    reservations_included: bool = True


@dataclass(frozen=True, slots=True)
class PoolRef:
    """The Runtime Pods of one runtime in one namespace."""

    namespace: str
    runtime: str


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why one candidate can't take the item."""

    plugin: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ReasonCount:
    """One reason, how many candidates it rejects, and the one that comes nearest to fitting, where that is known."""

    plugin: str
    reason: str
    count: int
    nearest_miss: str = ""
    nearest: CandidateRef | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The verdict on a pool. `message` is the status text of a waiting Run, empty when something is feasible."""

    considered: int
    feasible: int
    reasons: Sequence[ReasonCount]
    message: str


@dataclass(frozen=True, slots=True)
class FilterRow:
    """One candidate's verdict; feasible when `rejections` is empty."""

    candidate: CandidateRef
    rejections: Sequence[Rejection] = ()


@dataclass(frozen=True, slots=True)
class FilterAnswer:
    """Rows in name order, one page."""

    snapshot: SnapshotInfo
    pool: PoolRef
    diagnosis: Diagnosis
    rows: Sequence[FilterRow]
    next_page_token: str = ""


@dataclass(frozen=True, slots=True)
class PluginScore:
    """One plugin's opinion: raw in its own unit, normalized 0..100, weighted = normalized * weight."""

    plugin: str
    raw: int
    normalized: int
    weight: int

    @property
    def weighted(self) -> int:
        """What this plugin adds to the total."""
        return self.normalized * self.weight


@dataclass(frozen=True, slots=True)
class ScoredCandidate:
    """A candidate with its scores, or with the rejection that leaves it without any."""

    candidate: CandidateRef
    total: int = 0
    scores: Sequence[PluginScore] = ()
    rejection: Rejection | None = None


@dataclass(frozen=True, slots=True)
class ScoreAnswer:
    """The ranking, best first."""

    snapshot: SnapshotInfo
    pool: PoolRef
    diagnosis: Diagnosis
    chosen: CandidateRef | None
    rows: Sequence[ScoredCandidate]
    unknown_candidates: Sequence[str] = ()


class ReservationState(Enum):
    """Where a reservation stands; only HELD ends by time."""

    HELD = "HELD"
    BINDING = "BINDING"
    UNCONFIRMED = "UNCONFIRMED"
    BOUND = "BOUND"


@dataclass(frozen=True, slots=True)
class ReservationInfo:
    """Room taken for one item."""

    id: str
    namespace: str
    name: str
    uid: str
    candidate: CandidateRef
    requests: Mapping[str, int]
    state: ReservationState
    held_until: datetime | None
    owner: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Reserved:
    """Room was taken by this call."""

    reservation: ReservationInfo


@dataclass(frozen=True, slots=True)
class Fits:
    """Dry run: there is room. What a real plan would meet first is said beside it."""

    candidate: CandidateRef
    reservation: ReservationInfo | None = None
    group: str = ""


@dataclass(frozen=True, slots=True)
class Unschedulable:
    """Nothing fits; the diagnosis says why."""

    reservation: ReservationInfo | None = None
    group: str = ""


class IneligibleReason(Enum):
    """Why an item takes part in no cycle."""

    TERMINAL = "Terminal"
    TERMINATING = "Terminating"
    CANCELLED = "Cancelled"
    NO_RUNTIME = "NoRuntime"
    UNSUPPORTED_FIELD = "UnsupportedField"
    RETRY_DELAY = "RetryDelay"


@dataclass(frozen=True, slots=True)
class Ineligible:
    """The item takes part in no cycle, until `until` where that is known."""

    why: IneligibleReason
    until: datetime | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AlreadyReserved:
    """This owner holds room already."""

    reservation: ReservationInfo


@dataclass(frozen=True, slots=True)
class AlreadyAssigned:
    """The item is assigned."""

    candidate: CandidateRef


@dataclass(frozen=True, slots=True)
class Violation:
    """One fault of the item's spec."""

    reason: str
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Invalid:
    """The spec is wrong by every rule known."""

    violations: Sequence[Violation]


PlanResult = Reserved | Fits | Unschedulable | Ineligible | AlreadyReserved | AlreadyAssigned | Invalid


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """A decision, with the best candidates where there are any."""

    snapshot: SnapshotInfo
    pool: PoolRef
    diagnosis: Diagnosis
    result: PlanResult
    best: Sequence[ScoredCandidate] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """What a unary call would have raised."""

    reason: Reason
    message: str
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ReserveAnswer:
    """The room taken, or renewed."""

    snapshot: SnapshotInfo
    reservation: ReservationInfo


class BindOutcome(Enum):
    """What a Bind came to."""

    BOUND = "BOUND"
    ALREADY_BOUND = "ALREADY_BOUND"


@dataclass(frozen=True, slots=True)
class BindAnswer:
    """The assignment; `version` is the item's resourceVersion with it."""

    outcome: BindOutcome
    candidate: CandidateRef
    version: int


@dataclass(frozen=True, slots=True)
class PoppedItem:
    """A key that is in flight until `lease_until` (monotonic seconds), or until it is done."""

    attempt_id: str
    item: ExistingRun
    attempt: int
    lease_until: float


class PendingState(Enum):
    """Where a key of the queue stands."""

    ACTIVE = "ACTIVE"
    BACKOFF = "BACKOFF"
    UNSCHEDULABLE = "UNSCHEDULABLE"
    IN_FLIGHT = "IN_FLIGHT"
    RETRY_DELAY = "RETRY_DELAY"


@dataclass(frozen=True, slots=True)
class PendingItem:
    """A key of the queue. `position` from 1, within its state; `attempts`: unschedulable verdicts in a row.

    `reasons` are words; the counts are in `message`.
    """

    namespace: str
    name: str
    uid: str
    state: PendingState
    position: int
    attempts: int
    reasons: Sequence[str]
    message: str
    not_before: datetime | None


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A Run as the view has it."""

    namespace: str
    name: str
    uid: str
    version: int
    runtime: str
    phase: str
    assigned: CandidateRef | None
    requests: Mapping[str, int]
    attempt: int
    created_at: datetime | None
    message: str
    fault: str


@dataclass(frozen=True, slots=True)
class CandidateSummary:
    """A Runtime Pod as the view has it. `resources`: name -> (capacity, used); `reason` is empty when available."""

    namespace: str
    candidate: CandidateRef
    runtime: str
    reason: str
    resources: Mapping[str, tuple[int, int]]
    node: str
    overcommitted: bool


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list."""

    rows: Sequence[T]
    next_page_token: str = ""


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """One plugin of a profile; weight 0 when it does not score."""

    name: str
    weight: int
    arguments: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ProfileInfo:
    """A named choice of plugins, in the order in which they are asked."""

    name: str
    plugins: Sequence[PluginInfo]


@dataclass(frozen=True, slots=True)
class ViewInfo:
    """How far the view of one kind is; age in seconds. `undecodable`: how many objects can't be decoded now."""

    kind: str
    objects: int
    version: int
    age: float
    undecodable: int


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """Who answers, and what it knows."""

    version: str
    instance: str
    leader: bool
    synced: bool
    generation: int
    views: Sequence[ViewInfo]
    profiles: Sequence[ProfileInfo]
    counts: Mapping[str, int]
    brake: str = ""
    as_of: datetime | None = None
