"""Two clocks, injected: durations run on the monotonic one, stamps of other machines are compared with the wall clock.

They are separate because they diverge: NTP steps the wall clock, nothing steps the other. No other module reads `time`.
"""

import time
from typing import Protocol

SECOND = 1_000_000
"""Wall time is int microseconds since the epoch: a boundary such as 15.000 s is met exactly, which floats can't."""


class Clock(Protocol):
    """Time as the process knows it."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; never goes back."""
        ...

    def wall(self) -> int:
        """Microseconds since the epoch, as this machine's clock says."""
        ...


class SystemClock:
    """The clocks of this machine."""

    def monotonic(self) -> float:
        """See Clock."""
        return time.monotonic()

    def wall(self) -> int:
        """See Clock."""
        return time.time_ns() // 1000
