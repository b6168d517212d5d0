"""Two clocks that a test moves by hand, together or apart."""

from berth_server.objects.clock import SECOND


class FakeClock:
    """Stands still until it is moved."""

    def __init__(self, *, monotonic: float = 1000.0, wall: int = 1_767_225_600 * SECOND) -> None:
        self._monotonic = monotonic
        self._wall = wall

    def monotonic(self) -> float:
        """See Clock."""
        return self._monotonic

    def wall(self) -> int:
        """See Clock."""
        return self._wall

    def advance(self, seconds: float) -> None:
        """Move both clocks on."""
        self._monotonic += seconds
        self._wall += round(seconds * SECOND)

    def step_wall(self, seconds: float) -> None:
        """Set the wall clock, as NTP would."""
        self._wall += round(seconds * SECOND)
