"""When to stop taking keys: so many writes can't be settled, or the API server refuses every one for the same reason.

Going on would only add to it: each attempt takes room, is refused, and gives the room back. A brake is said once, with
what to do, and released by a probe: one key every few seconds, until one is bound.
"""

from typing import Final

from berth_server.objects.clock import Clock
from berth_server.placement.ports import KubeError, RefusedError
from berth_server.state.reservations import Reservations, State

MAX_UNCONFIRMED: Final = 256
REFUSALS_IN_A_ROW: Final = 20
PROBE_SECONDS: Final = 10.0


class Brakes:
    """Watches the outcomes of binds. Written by `placement.bind`, asked by `placement.work`."""

    def __init__(self, reservations: Reservations, clock: Clock) -> None:
        self._reservations = reservations
        self._clock = clock
        self._refused_for = ""
        self._refusals = 0
        self._says = ""
        self._probe_at = 0.0

    def bound(self) -> None:
        """A bind went through: nothing is refused any more."""
        self._refused_for, self._refusals, self._says = "", 0, ""

    def refused(self, error: KubeError) -> bool:
        """A bind was refused; whether that pulls the brake. Conflicts and throttling are no sign of a fault."""
        if not isinstance(error, RefusedError):
            return False
        kind = f"{error.code} {error.reason}"
        self._refusals = self._refusals + 1 if kind == self._refused_for else 1
        self._refused_for = kind
        if self._refusals != REFUSALS_IN_A_ROW:
            return False
        self._says = (
            f"the API server refused {REFUSALS_IN_A_ROW} binds in a row ({kind}: {error}): check the rights on"
            " runs/status and the admission webhooks; one bind is tried every few seconds"
        )
        self._probe_at = self._clock.monotonic() + PROBE_SECONDS
        return True

    def reason(self) -> str:
        """Why no keys are taken, with what to do; empty: they are."""
        if self._says:
            return self._says
        unconfirmed = sum(each.state is State.UNCONFIRMED for each in self._reservations)
        if unconfirmed < MAX_UNCONFIRMED:
            return ""
        return f"{unconfirmed} writes of unknown outcome wait to be settled: check the way to the API server"

    def room(self, wanted: int) -> int:
        """Return how many keys may be taken now, at most `wanted`; a probe counts as taken."""
        if not self.reason():
            return wanted
        now = self._clock.monotonic()
        if not self._says or now < self._probe_at:
            return 0
        self._probe_at = now + PROBE_SECONDS
        return min(wanted, 1)

    def next_probe(self) -> float:
        """Monotonic time at which `room` grows by itself; infinity: it does not, or there is room already."""
        return self._probe_at if self._says and self._probe_at > self._clock.monotonic() else float("inf")
