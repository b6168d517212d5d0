"""What the queue keeps of one key, changed by `PendingQueue` alone."""

from dataclasses import dataclass
from math import inf
from typing import Final

from berth_server.queue.events import Cure
from berth_server.queue.key import PendingRow, PendingState, QueueKey

NO_CURES: Final[frozenset[Cure]] = frozenset()


@dataclass(slots=True, eq=False)
class Entry:
    """One key. Times are monotonic seconds.

    `attempts` and `errors`: failures in a row, each with its own counter; `errors` is 0 unless the last outcome was
    one. `backoff_until` outlives the state BACKOFF: an activation looks at it whenever it comes. `attempt`: the one in
    flight. `activated` and `reset` came while it was, and take effect when it is done.
    """

    key: QueueKey
    state: PendingState = PendingState.ACTIVE
    attempts: int = 0
    errors: int = 0
    backoff_until: float = -inf
    retry_at: float = -inf
    attempt: int = 0
    activated: bool = False
    reset: bool = False
    cures: frozenset[Cure] = NO_CURES
    reasons: tuple[str, ...] = ()
    message: str = ""

    def said(self, state: PendingState, reasons: tuple[str, ...] = (), message: str = "") -> PendingState:
        """Keep the words of an outcome, and return the state that it leads to."""
        self.reasons = reasons
        self.message = message
        return state

    @property
    def not_before(self) -> float | None:
        """When its timer ends; None if it has none."""
        match self.state:
            case PendingState.BACKOFF:
                return self.backoff_until
            case PendingState.RETRY_DELAY:
                return self.retry_at
            case _:
                return None

    @property
    def order(self) -> tuple[float, int, int, str]:
        """The order within a state other than ACTIVE: by timer if there is one, then as keys go."""
        return self.not_before or 0.0, *self.key.order

    def row(self, position: int) -> PendingRow:
        """Return it for people."""
        return PendingRow(
            key=self.key,
            state=self.state,
            position=position,
            attempts=self.attempts,
            errors=self.errors,
            reasons=self.reasons,
            message=self.message,
            not_before=self.not_before,
        )
