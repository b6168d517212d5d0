"""What Plan and Bind of each attempt came to. The caller of Done brings no result: the server knows.

An attempt is one taking of a key from the queue. Whoever plans under it must be inside its lease; a late call answers
ATTEMPT_OVER and changes nothing.
"""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from berth_server.placement.failures import PlacementError, Reason


class Verdict(Enum):
    """What is known last of an attempt."""

    NOTHING = "nothing"
    """Nobody planned under it."""
    BOUND = "bound"
    SETTLED = "settled"
    """Already assigned, gone, terminal, terminating: nothing is left to decide."""
    UNSCHEDULABLE = "unschedulable"
    HELD = "held"
    """Unsupported or a member of a group: only a change of the item (or its group) can cure it."""
    RESERVED = "reserved"
    """Room is held, and nobody has bound it yet."""
    RESERVED_BY_OTHER = "reserved_by_other"
    CONFLICT = "conflict"
    INVALID = "invalid"
    CANCELLED = "cancelled"
    RETRY_DELAY = "retry_delay"
    SELECTION_ERROR = "selection_error"
    """A plugin failed or broke its contract."""
    ERROR = "error"


@dataclass(slots=True)
class Attempt:
    """One key in flight. `number` names it in the queue; times are monotonic seconds; `trace`: the span of its cycle.

    `until`: not before that. `refused`: the version that a conflict proved to be old, 0 if none did.
    """

    id: str
    number: int
    uid: str
    started: float
    lease_until: float
    verdict: Verdict = Verdict.NOTHING
    reasons: tuple[str, ...] = ()
    message: str = ""
    until: float = 0.0
    refused: int = 0
    trace: object = None


class Attempts:
    """Attempt id -> attempt, of what is in flight. Written by `placement.work` and by those who decide under one."""

    def __init__(self) -> None:
        self._attempts: dict[str, Attempt] = {}

    def start(self, number: int, uid: str, *, now: float, lease: float) -> Attempt:
        """Begin an attempt on that item."""
        attempt = Attempt(secrets.token_hex(16), number, uid, now, now + lease)
        self._attempts[attempt.id] = attempt
        return attempt

    def end(self, attempt_id: str) -> Attempt:
        """Take the attempt out. Raises PlacementError ATTEMPT_OVER."""
        attempt = self._attempts.pop(attempt_id, None)
        if attempt is None:
            raise _over(attempt_id)
        return attempt

    def of(self, attempt_id: str, uid: str | None = None) -> Attempt | None:
        """Return the attempt that a call belongs to; None if it names none.

        Raises PlacementError ATTEMPT_OVER, also if the attempt is on another item than `uid`.
        """
        if not attempt_id:
            return None
        attempt = self._attempts.get(attempt_id)
        if attempt is None or (uid is not None and attempt.uid != uid):
            raise _over(attempt_id)
        return attempt

    def find(self, attempt_id: str) -> Attempt | None:
        """Return the attempt if it is in flight."""
        return self._attempts.get(attempt_id)

    def overdue(self, now: float) -> list[Attempt]:
        """Return those whose lease has ended."""
        return [attempt for attempt in self._attempts.values() if attempt.lease_until < now]

    def next_end(self) -> float:
        """Monotonic time at which the next lease ends; infinity: none is in flight."""
        return min((attempt.lease_until for attempt in self._attempts.values()), default=float("inf"))

    def __iter__(self) -> Iterator[Attempt]:
        return iter(self._attempts.values())

    def __len__(self) -> int:
        return len(self._attempts)


def _over(attempt_id: str) -> PlacementError:
    return PlacementError(
        Reason.ATTEMPT_OVER,
        f"attempt {attempt_id} is over: its lease ended or it was done. Nothing was changed; pop again.",
        metadata={"attempt_id": attempt_id},
    )
