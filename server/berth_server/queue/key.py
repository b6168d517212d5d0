"""What the queue knows of an item, and what it tells about it."""

from dataclasses import dataclass
from enum import Enum


class PendingState(Enum):
    """Where a key is."""

    ACTIVE = "active"
    """Is tried as soon as somebody takes it."""
    BACKOFF = "backoff"
    """Waits for its backoff to end."""
    UNSCHEDULABLE = "unschedulable"
    """Waits for an event that can cure its reasons, or for its own change."""
    IN_FLIGHT = "in_flight"
    """An attempt is under way."""
    RETRY_DELAY = "retry_delay"
    """Waits for the retry delay of the item itself to end."""


@dataclass(frozen=True, slots=True)
class QueueKey:
    """An item as the queue sees it. `arrival`: its creation in wall microseconds; higher priorities go first."""

    uid: str
    namespace: str
    runtime: str
    priority: int
    arrival: int

    @property
    def order(self) -> tuple[int, int, str]:
        """The order of keys that nothing else tells apart; that of a requeued key is what it was."""
        return -self.priority, self.arrival, self.uid


@dataclass(frozen=True, slots=True)
class Popped:
    """An attempt that begins. `attempt` is unique in the life of the queue, and names it until it is done."""

    attempt: int
    key: QueueKey


@dataclass(frozen=True, slots=True)
class PendingRow:
    """One key for people. `position` counts from 1 within its state; `attempts`: unschedulable verdicts in a row.

    `reasons` and `message` are those of the last outcome. `not_before`, in monotonic seconds: when its backoff or retry
    delay ends, None in other states.
    """

    key: QueueKey
    state: PendingState
    position: int
    attempts: int
    errors: int
    reasons: tuple[str, ...]
    message: str
    not_before: float | None
