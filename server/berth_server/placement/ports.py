"""What the service needs from outside (`Store`), and what outsiders may ask of it (`Service`).

These Protocols are the only thing that the Kubernetes edge shares with the rest: the edge implements `Store` and raises
`KubeError`, the gRPC layer and the driver depend on `Service`. Nothing here has behaviour.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from berth_server.objects.decode import Undecodable
from berth_server.objects.resources import Resource

if TYPE_CHECKING:
    from berth_server.placement import answers, questions


class KubeError(Exception):
    """A failure outside: the API server or the way to it. The subclass decides what happens next."""


class NotFoundError(KubeError):
    """The object is not there, or has another UID (404)."""


class ConflictError(KubeError):
    """The version that the write carried is not the newest (409). Nothing was written."""


class GoneError(KubeError):
    """The version to watch from is older than the history kept (410): list again."""


class RefusedError(KubeError):
    """A definite refusal (400 401 403 405 413 415 422): nothing was written. `reason` is the API's.

    Code 0: there was no connection, so nothing was sent.
    """

    def __init__(self, message: str, *, code: int, reason: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


class ThrottledError(KubeError):
    """429: nothing was written; not before `retry_after` seconds."""

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class OutcomeUnknownError(KubeError):
    """A 5xx, a time-out, a lost connection: the write may have landed, now or later.

    `version`: what the write carried, where that may be newer than what its sender gave.
    """

    def __init__(self, message: str, *, version: int = 0) -> None:
        super().__init__(message)
        self.version = version


class EventType(Enum):
    """Type of a watch event, as Kubernetes spells it."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One change, of a `resource` or of what is `undecodable`; a bookmark has neither."""

    type: EventType
    kind: str
    version: int
    resource: Resource | None = None
    undecodable: Undecodable | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """All objects of one kind at one version, those apart that can't be decoded; or a page of that.

    A page that is the `first` begins anew: what pages came before it are no part of the listing. With the `last` it is
    whole.
    """

    kind: str
    version: int
    resources: Sequence[Resource]
    undecodable: Sequence[Undecodable] = ()
    first: bool = True
    last: bool = True


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """Names one object for a write. An empty namespace means cluster-scoped."""

    kind: str
    namespace: str
    name: str
    uid: str = ""


class Store(Protocol):
    """Kubernetes objects: list, watch, conditional patch of the status. One contract suite judges every one of them."""

    def list(self, kind: str) -> AsyncIterator[Listing]:
        """Yield all objects of `kind`, with the version to watch from, in pages that are short work each."""
        ...

    def watch(self, kind: str, since: int) -> AsyncIterator[WatchEvent]:
        """Yield the changes after version `since`, in order, until closed.

        Raises GoneError when the history no longer reaches back to `since`.
        """
        ...

    def age(self, kind: str) -> float:
        """Return how many seconds ago a watch of `kind` was last known to be complete; 0 within one process."""
        ...

    async def read(self, ref: ObjectRef) -> Resource:
        """Return one object as the store has it now. Raises a KubeError: NotFoundError if there is none of its name.

        It does not tell what a write of unknown outcome will still do.
        """
        ...

    async def patch_status(self, ref: ObjectRef, status: Mapping[str, Any], *, version: int) -> Resource:
        """Merge `status` (JSON merge patch, RFC 7386) into the status subresource if `version` is still the newest.

        Returns the object as stored. Raises a KubeError; only OutcomeUnknownError leaves open what happened.
        """
        ...


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What a status write starts from: the object, the newest version known of it, its conditions as raw JSON."""

    ref: ObjectRef
    version: int
    conditions: bytes


class Writer(Protocol):
    """The only way by which Berth writes to Kubernetes. One write slot an item.

    Each call is one conditional PATCH of the status subresource, and returns the version that it made. Foreign
    conditions are written back as they are. Raises OutcomeUnknownError for whatever leaves open what happened; any
    other exception, a bug among them, means that nothing was written.
    """

    async def assign(self, item: Outgoing, candidate_name: str, candidate_uid: str) -> int:
        """Write phase Scheduled, the candidate, condition Scheduled=True. Supersedes a message that waits."""
        ...

    async def finish(self, item: Outgoing, phase: str, reason: str, message: str) -> int:
        """Write a terminal phase, completionTime, conditions Running=False and Completed=False with the reason."""
        ...

    async def fence(self, item: Outgoing, sent: int) -> int:
        """Change a byte of the status at version `sent`: once that succeeds, no other write at `sent` can ever land.

        Raises ConflictError or NotFoundError if something landed already: then a read tells what.
        """
        ...

    async def note(self, item: Outgoing, message: str) -> int | None:
        """Write the message of an item that waits; None: another write took its place."""
        ...

    def seen(self, uid: str, version: int) -> None:
        """The view has the item at `version`; a deleted one at infinity: no later write needs what was kept of it."""
        ...


class Recorder(Protocol):
    """Kubernetes Events for people who look at one object. Never waits, never fails; what is too much is dropped."""

    def record(self, regarding: ObjectRef, reason: str, note: str, *, related: ObjectRef | None = None) -> None:
        """Tell that `reason` (Scheduled, FailedScheduling) happened to an object, `related` being its candidate."""
        ...


class NoEvents:
    """The Recorder that tells nobody."""

    def record(self, regarding: ObjectRef, reason: str, note: str, *, related: ObjectRef | None = None) -> None:
        """See Recorder."""


class Service(Protocol):
    """Placement as others see it: the driver in process, and every RPC. Raises `failures.PlacementError` alone."""

    async def filter(self, question: "questions.FilterQuestion") -> "answers.FilterAnswer":
        """Judge every candidate of the item's pool. Changes nothing."""
        ...

    async def score(self, question: "questions.ScoreQuestion") -> "answers.ScoreAnswer":
        """Rank the feasible candidates and name the one the cycle would take. Changes nothing."""
        ...

    async def plan(self, question: "questions.PlanQuestion") -> "answers.PlanAnswer":
        """Decide, and reserve unless it is a dry run, with no await between."""
        ...

    async def plan_batch(
        self, batch: Sequence["questions.PlanQuestion | answers.Failure"]
    ) -> "Sequence[answers.PlanAnswer | answers.Failure]":
        """Plan strictly one after another; a failed one does not end the others. A Failure stays where it is."""
        ...

    async def reserve(self, question: "questions.ReserveQuestion") -> "answers.ReserveAnswer":
        """Take room on one named candidate after asking every filter again; the same again renews the hold."""
        ...

    async def release(self, question: "questions.ReleaseQuestion") -> bool:
        """Give the room of a held reservation back; False: there was none."""
        ...

    async def bind(self, question: "questions.BindQuestion") -> "answers.BindAnswer":
        """Look again, write the assignment, answer when its outcome is known. A further call joins the first."""
        ...

    async def pop(self, *, max_items: int, wait: float) -> "Sequence[answers.PoppedItem]":
        """Take what is next from the queue, waiting at most `wait` seconds for something to be there."""
        ...

    async def done(self, attempt_id: str) -> None:
        """End an attempt: what its Plan and Bind came to decides where its key goes. Raises ATTEMPT_OVER."""
        ...


class Inspection(Protocol):
    """What the server believes, for people. Changes nothing. Raises `failures.PlacementError` alone."""

    async def list_runs(
        self, *, namespace: str, phases: Sequence[str], page_size: int, page_token: str
    ) -> "answers.Page[answers.RunSummary]":
        """List the Runs in view, by namespace and name."""
        ...

    async def list_candidates(
        self, *, namespace: str, runtime: str, page_size: int, page_token: str
    ) -> "answers.Page[answers.CandidateSummary]":
        """List the Runtime Pods in view, by namespace and name."""
        ...

    async def list_reservations(
        self, *, namespace: str, page_size: int, page_token: str
    ) -> "answers.Page[answers.ReservationInfo]":
        """List the room that is taken and not yet seen as assigned, oldest first."""
        ...

    async def list_pending(
        self, *, namespace: str, page_size: int, page_token: str
    ) -> "answers.Page[answers.PendingItem]":
        """List what waits in the queue, next first."""
        ...

    async def server_info(self) -> "answers.ServerInfo":
        """Tell version, role, ages of the views, profiles and counts."""
        ...
