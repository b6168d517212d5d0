"""Whether an item takes part in a cycle now, and if not, what it is told. Pure.

The order of the checks is the order of Plan's outcomes: what ends the matter for good comes before what passes.
"""

from dataclasses import dataclass
from typing import Final

from berth_server.objects.clock import SECOND
from berth_server.objects.faults import InvalidSpec, UnsupportedField, shown
from berth_server.objects.item import Item, Stage
from berth_server.placement import answers
from berth_server.placement.answers import IneligibleReason
from berth_server.placement.questions import CandidateRef
from berth_server.placement.translate import instant

MAX_RETRY_DELAY_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Member:
    """The item belongs to a group and is placed with it, never alone."""

    group: str


Standing = answers.AlreadyAssigned | answers.Ineligible | answers.Invalid | Member


def standing(item: Item, *, wall: int, monotonic: float) -> Standing | None:
    """Return why the item is not planned now; None: it is eligible. A reservation is not looked at here."""
    return (
        settled(item)
        or (Member(item.link) if item.link is not None else None)
        or retry_delay(item, wall=wall, monotonic=monotonic)
    )


def settled(item: Item) -> answers.AlreadyAssigned | answers.Ineligible | answers.Invalid | None:
    """Return what only a change of the item itself can change; None: nothing does."""
    stage, fault = item.stage, item.spec.fault
    if stage is Stage.ACTIVE or item.holds_capacity:
        return answers.AlreadyAssigned(CandidateRef(item.assigned_name, item.assigned_uid))
    if stage is Stage.TERMINAL:
        return answers.Ineligible(IneligibleReason.TERMINAL, detail=f"status.phase is {item.phase}")
    if item.terminating:
        return answers.Ineligible(IneligibleReason.TERMINATING, detail="it has a deletionTimestamp")
    if item.spec.cancel_requested:
        return answers.Ineligible(IneligibleReason.CANCELLED, detail="spec.cancelRequested is true")
    if not item.spec.runtime and not (fault is not None and fault.path == "spec.runtime"):
        return answers.Ineligible(IneligibleReason.NO_RUNTIME, detail="spec.runtime is empty")
    if stage is Stage.UNKNOWN:
        detail = f"status.phase: this version does not support the value {shown(item.phase)}"
        return answers.Ineligible(IneligibleReason.UNSUPPORTED_FIELD, detail=detail)
    if isinstance(fault, UnsupportedField):
        return answers.Ineligible(IneligibleReason.UNSUPPORTED_FIELD, detail=fault.message)
    if isinstance(fault, InvalidSpec):
        return answers.Invalid((answers.Violation(fault.reason, fault.path, fault.message),))
    return None


def retry_ends(item: Item, *, wall: int, monotonic: float) -> float | None:
    """Return the monotonic time at which the item's retry delay is over; None: it has none.

    backoff * 2^(attempt-2), at most 60 s, from the transition of condition Running=False or from when it was first seen
    here, whichever ends first.
    """
    if item.retry_from is None:
        return None
    doublings = min(item.attempt - 2, 62)
    delay = min(item.spec.retry_backoff_seconds * 2.0**doublings, MAX_RETRY_DELAY_SECONDS)
    by_stamp = monotonic + (item.retry_from - wall) / SECOND + delay
    return min(by_stamp, item.retry_seen + delay)


def retry_delay(item: Item, *, wall: int, monotonic: float) -> answers.Ineligible | None:
    """Return until when the item waits to be retried; None: it does not."""
    ends = retry_ends(item, wall=wall, monotonic=monotonic)
    if ends is None or ends <= monotonic:
        return None
    until = instant(wall + round((ends - monotonic) * SECOND))
    return answers.Ineligible(IneligibleReason.RETRY_DELAY, until=until, detail=f"attempt {item.attempt} waits")
