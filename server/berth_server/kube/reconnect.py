"""When to ask again after a list or a watch ended. A pure state machine: time and chance come in as arguments.

Failures in a row wait longer and longer, and a server that asks for time gets it. A watch that the server closes in
order is opened again at once, unless it closes at once, too. One that lived for a while ends the row of failures.
"""

from typing import Final

BASE_SECONDS: Final = 0.2
CAP_SECONDS: Final = 10.0
HEALTHY_SECONDS: Final = 10.0
"""A watch that lived this long was no failure of the way to the server."""
SHORT_SECONDS: Final = 1.0
"""A watch that the server closed sooner was no watch: opening it at once again would be a hot loop."""


class Reconnect:
    """For one kind. Times are monotonic seconds; `chance` is from 0 to 1 and spreads the waits of many clients."""

    def __init__(self) -> None:
        self.failures = 0
        self._not_before = 0.0

    def failed(self, now: float, *, chance: float, lived: float = 0.0, retry_after: float = 0.0) -> None:
        """A request failed, or a stream ended with an error after it had lived for so long."""
        self.failures = 1 if lived >= HEALTHY_SECONDS else self.failures + 1
        longest = min(CAP_SECONDS, BASE_SECONDS * 2.0 ** min(self.failures - 1, 16))
        # At least half, so that a row of failures never becomes a burst.
        self._not_before = now + max(longest * (0.5 + chance / 2), retry_after)

    def closed(self, now: float, *, chance: float, lived: float) -> None:
        """The server closed a stream in order."""
        if lived < SHORT_SECONDS:
            self.failed(now, chance=chance)
        else:
            self.failures = 0

    def listed(self) -> None:
        """A list succeeded. The failures of watches count on: a watch that fails after each list must not spin."""
        self._not_before = 0.0

    def wait(self, now: float) -> float:
        """Return how many seconds from now the next request may go out."""
        return max(self._not_before - now, 0.0)
