"""The heartbeats of all candidates, and the moment at which each verdict on them changes without an event.

A writer that died sends nothing at the moment its heartbeat expires, so expiry is a timer. A cluster that comes from
files has a clock that stands still: there every stamp is judged as at first sight and nothing expires. Written by
`ClusterState` alone.
"""

import heapq
import math

from berth_server.objects.clock import SECOND
from berth_server.state.freshness import Heartbeat, Pulse, first_sight, judge, observe

_CLOCK_STEP_SECONDS = 0.5
"""A wall clock that moved this much against the monotonic one was stepped: every verdict is taken anew."""


class Heartbeats:
    """Candidate UID -> heartbeat and pulse."""

    __slots__ = ("_due", "_heartbeats", "_offset", "_pulses", "_standing")

    def __init__(self, standing_at: int | None = None) -> None:
        """`standing_at`: the wall time, in microseconds, of a clock that stands still; None: time moves."""
        self._standing = standing_at
        self._heartbeats: dict[str, Heartbeat] = {}
        self._pulses: dict[str, Pulse] = {}
        self._due: list[tuple[float, str]] = []
        self._offset: float | None = None

    def observe(self, uid: str, stamp: int | None, *, monotonic: float, wall: int) -> Pulse:
        """Take note of a stamp and return the pulse now."""
        if self._offset is None:
            self._offset = wall / SECOND - monotonic
        before = self._heartbeats.get(uid)
        if self._standing is not None:
            self._heartbeats[uid] = first_sight(stamp, monotonic=0.0, wall=self._standing)
        elif before is None:
            self._heartbeats[uid] = first_sight(stamp, monotonic=monotonic, wall=wall)
        else:
            self._heartbeats[uid] = observe(before, stamp, monotonic=monotonic)
        return self._judge(uid, monotonic, wall)

    def forget(self, uid: str) -> None:
        """The candidate is gone; seen again, it is seen for the first time."""
        self._heartbeats.pop(uid, None)
        self._pulses.pop(uid, None)

    def pulse(self, uid: str) -> Pulse:
        """The verdict as of the last `observe` or `advance`."""
        return self._pulses[uid]

    def advance(self, *, monotonic: float, wall: int) -> list[str]:
        """Move time on; return the UIDs whose pulse changed."""
        if self._standing is not None:
            return []
        offset = wall / SECOND - monotonic
        due = []
        if self._offset is not None and abs(offset - self._offset) > _CLOCK_STEP_SECONDS:
            self._offset = offset
            due = list(self._heartbeats)
        while self._due and self._due[0][0] <= monotonic:
            due.append(heapq.heappop(self._due)[1])
        changed = []
        for uid in due:
            if uid in self._heartbeats:
                before = self._pulses[uid]
                if self._judge(uid, monotonic, wall) is not before:
                    changed.append(uid)
        return changed

    def next_change(self) -> float:
        """Monotonic time just after which `advance` may find something; infinity: never by itself."""
        return self._due[0][0] if self._due else math.inf

    def _judge(self, uid: str, monotonic: float, wall: int) -> Pulse:
        if self._standing is not None:
            monotonic, wall = 0.0, self._standing
        pulse, until = judge(self._heartbeats[uid], monotonic=monotonic, wall=wall)
        self._pulses[uid] = pulse
        if self._standing is None and until < math.inf:
            heapq.heappush(self._due, (until, uid))
            if len(self._due) > 64 + 4 * len(self._heartbeats):
                self._rebuild_due(monotonic, wall)
        return pulse

    def _rebuild_due(self, monotonic: float, wall: int) -> None:
        """Drop the entries that later heartbeats have overtaken; one heartbeat leaves one behind."""
        fresh = (
            (judge(heartbeat, monotonic=monotonic, wall=wall)[1], uid) for uid, heartbeat in self._heartbeats.items()
        )
        self._due = [(until, uid) for until, uid in fresh if until < math.inf]
        heapq.heapify(self._due)
