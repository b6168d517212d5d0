"""Whether a Runtime Pod's heartbeat is fresh, and when that answer changes without any event.

A stamp is a token: it is trusted because *we* saw it change a short while ago, not because of the value that another
machine's clock gave it. The value is only held against gross skew, because the reaper of kruntimes judges by it. No
clock is read here, and a stamp in the future never extends trust.
"""

import math
from dataclasses import dataclass
from enum import IntEnum

from berth_server.objects.clock import SECOND

TRUST_SECONDS = 15.0
"""Inclusive: a heartbeat is fresh at 15.000 s."""
MAX_SKEW_SECONDS = 30.0
"""Inclusive, against our wall clock; where the reaper of kruntimes gives a Pod up."""


class Pulse(IntEnum):
    """The judgement."""

    FRESH = 0
    STALE = 1
    SKEWED = 2


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A stamp (wall microseconds, None: none or unparsable), and when we saw it (monotonic seconds)."""

    stamp: int | None
    seen_at: float
    moved: bool
    """We saw it change. Else `trusted_for` (seconds, negative: not at all) says how far a first sight is trusted."""
    trusted_for: float = TRUST_SECONDS
    skewed: bool = False
    """At first sight it was further ahead than any clock should be."""


def first_sight(stamp: int | None, *, monotonic: float, wall: int) -> Heartbeat:
    """Judge a stamp that nothing is known of: trust it for what is left of 15 s by its own account."""
    if stamp is None:
        return Heartbeat(None, monotonic, moved=False, trusted_for=-1.0)
    age = (wall - stamp) / SECOND
    if age < -MAX_SKEW_SECONDS:
        return Heartbeat(stamp, monotonic, moved=False, trusted_for=-1.0, skewed=True)
    return Heartbeat(stamp, monotonic, moved=False, trusted_for=TRUST_SECONDS - max(age, 0.0))


def observe(before: Heartbeat, stamp: int | None, *, monotonic: float) -> Heartbeat:
    """Take note of the stamp of a later observation; the same stamp changes nothing."""
    if stamp == before.stamp:
        return before
    return Heartbeat(stamp, monotonic, moved=stamp is not None, trusted_for=-1.0 if stamp is None else TRUST_SECONDS)


def judge(heartbeat: Heartbeat, *, monotonic: float, wall: int) -> tuple[Pulse, float]:
    """Return the pulse, and the monotonic time just after which it may differ (infinity: never by itself)."""
    if not heartbeat.moved:
        left = heartbeat.seen_at + heartbeat.trusted_for - monotonic
        if heartbeat.skewed:
            return Pulse.SKEWED, math.inf
        return (Pulse.FRESH, monotonic + left) if left >= 0 else (Pulse.STALE, math.inf)
    left = heartbeat.seen_at + TRUST_SECONDS - monotonic
    if left < 0:
        return Pulse.STALE, math.inf
    assert heartbeat.stamp is not None
    ahead = (heartbeat.stamp - wall) / SECOND
    if abs(ahead) > MAX_SKEW_SECONDS:
        # A stamp that is ahead comes within bounds by itself as the wall clock moves on.
        back_in = ahead - MAX_SKEW_SECONDS if ahead > 0 else math.inf
        return Pulse.SKEWED, monotonic + min(left, back_in)
    return Pulse.FRESH, monotonic + min(left, ahead + MAX_SKEW_SECONDS)
