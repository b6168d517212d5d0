"""Heartbeats of many candidates: each verdict changes at its moment, and the timers stay bounded."""

import math
from random import Random

import pytest

from berth_server.objects.clock import SECOND
from berth_server.state.freshness import Pulse
from berth_server.state.heartbeats import Heartbeats
from tests.builders import MONOTONIC, NOW
from tests.fakes.clock import FakeClock


class Monitor:
    """Heartbeats on a clock that a test moves."""

    def __init__(self, standing_at: int | None = None) -> None:
        self.clock = FakeClock(monotonic=MONOTONIC, wall=NOW)
        self.heartbeats = Heartbeats(standing_at)

    def beat(self, uid: str, age: float | None = 0.0) -> Pulse:
        """Observe a stamp that is `age` seconds old now."""
        stamp = None if age is None else self.clock.wall() - round(age * SECOND)
        return self.heartbeats.observe(uid, stamp, monotonic=self.clock.monotonic(), wall=self.clock.wall())

    def advance(self, seconds: float = 0.0) -> list[str]:
        """Let time pass; return whose pulse changed."""
        self.clock.advance(seconds)
        return sorted(self.heartbeats.advance(monotonic=self.clock.monotonic(), wall=self.clock.wall()))

    def changes(self, horizon: float) -> list[tuple[float, str, Pulse]]:
        """Advance from timer to timer, each by a hair beyond; return when whose pulse became what."""
        seen, end = [], self.clock.monotonic() + horizon
        while (due := self.heartbeats.next_change()) < end:
            changed = self.advance(max(due - self.clock.monotonic(), 0.0) + 1e-6)
            passed = round(self.clock.monotonic() - MONOTONIC, 3)
            seen += [(passed, uid, self.heartbeats.pulse(uid)) for uid in changed]
        return seen


def test_each_expiry_is_a_timer() -> None:
    """A writer that stops sends nothing; its verdict changes all the same, at its own moment."""
    monitor = Monitor()
    monitor.beat("first", 5.0)
    monitor.beat("ahead", -20.0)
    monitor.beat("slow", 400.0)
    monitor.clock.advance(1)
    monitor.beat("slow", 20.0)
    assert monitor.changes(100) == [
        (10.0, "first", Pulse.STALE),
        (11.0, "slow", Pulse.SKEWED),
        (15.0, "ahead", Pulse.STALE),
        (16.0, "slow", Pulse.STALE),
    ]
    assert monitor.heartbeats.next_change() == math.inf


def test_a_writer_that_is_ahead_comes_back_by_itself() -> None:
    """A stamp 40 s ahead is skewed until the wall clock is within 30 s of it."""
    monitor = Monitor()
    monitor.beat("p", 0.0)
    monitor.clock.advance(1)
    assert monitor.beat("p", -40.0) is Pulse.SKEWED
    assert monitor.changes(100) == [(11.0, "p", Pulse.FRESH), (16.0, "p", Pulse.STALE)]


def test_the_boundary_itself_is_fresh() -> None:
    """At exactly 15 s nothing has changed yet."""
    monitor = Monitor()
    monitor.beat("p")
    assert monitor.advance(15.0) == []
    assert monitor.heartbeats.pulse("p") is Pulse.FRESH
    assert monitor.advance(0.001) == ["p"]
    assert monitor.heartbeats.pulse("p") is Pulse.STALE


def test_a_heartbeat_every_5_s_changes_nothing() -> None:
    """A living writer is fresh at every instant, and nobody is told anything."""
    monitor = Monitor()
    for _ in range(100):
        assert monitor.beat("p", 0.2) is Pulse.FRESH
        assert monitor.advance(5.0) == []


def test_timers_stay_bounded() -> None:
    """Heartbeats that overtake each other leave no trail, however often they come."""
    monitor = Monitor()
    uids = [f"p{number}" for number in range(20)]
    for _ in range(200):
        monitor.clock.advance(0.001)
        for uid in uids:
            monitor.beat(uid)
    assert len(monitor.heartbeats._due) <= 64 + 4 * len(uids)
    assert monitor.advance(14.9) == []
    assert monitor.advance(1.0) == sorted(uids)


def test_a_stepped_wall_clock_changes_every_verdict_at_once() -> None:
    """NTP moves our clock by an hour and back: skewed, then fresh, without any heartbeat."""
    monitor = Monitor()
    monitor.beat("p", 1.0)
    monitor.beat("q", 1.0)
    monitor.advance(1.0)
    monitor.beat("p", 0.0)
    monitor.clock.step_wall(-3600)
    assert monitor.advance(0.1) == ["p"], "q was never seen to move: nothing but its age is known"
    assert monitor.heartbeats.pulse("p") is Pulse.SKEWED
    monitor.clock.step_wall(3600)
    assert monitor.advance(0.1) == ["p"]
    assert monitor.heartbeats.pulse("p") is Pulse.FRESH


def test_a_wall_clock_that_drifts_is_followed() -> None:
    """Drift in steps too small to notice adds up to one that is."""
    monitor = Monitor()
    monitor.beat("p", 500.0)
    monitor.advance()
    skewed_after = 0
    for step in range(1, 200):
        monitor.clock.step_wall(0.4)
        monitor.clock.advance(1e-6)
        monitor.beat("p", 0.4 * step)
        monitor.advance()
        if monitor.heartbeats.pulse("p") is Pulse.SKEWED:
            skewed_after = step
            break
    assert skewed_after == 76, "30 s are 75 steps"


def test_a_candidate_that_returns_is_seen_for_the_first_time() -> None:
    """Forgetting takes trust away: an old stamp is stale, though it would have counted as moved."""
    monitor = Monitor()
    monitor.beat("p", 100.0)
    monitor.clock.advance(1)
    monitor.heartbeats.forget("p")
    assert monitor.beat("p", 20.0) is Pulse.STALE
    assert monitor.advance(100.0) == []


def test_forgotten_candidates_are_not_judged() -> None:
    """A timer of what is gone does nothing."""
    monitor = Monitor()
    monitor.beat("p")
    monitor.heartbeats.forget("p")
    assert monitor.advance(16.0) == []
    monitor.heartbeats.forget("p")


@pytest.mark.parametrize(
    ("age", "want"),
    [
        pytest.param(15.0, Pulse.FRESH, id="15 s before"),
        pytest.param(15.1, Pulse.STALE, id="older"),
        pytest.param(-30.1, Pulse.SKEWED, id="ahead"),
        pytest.param(None, Pulse.STALE, id="missing"),
    ],
)
def test_a_clock_that_stands_still(age: float | None, want: Pulse) -> None:
    """Every stamp is judged as at first sight, also a later one, whatever our clocks do; nothing expires."""
    monitor = Monitor(standing_at=NOW)
    monitor.beat("p", 500.0)
    assert monitor.beat("p", age) is want
    monitor.clock.step_wall(3600)
    assert monitor.advance(3600.0) == []
    assert monitor.heartbeats.pulse("p") is want
    assert monitor.heartbeats.next_change() == math.inf


def test_random_lives_agree_with_a_fresh_look(seed: int) -> None:
    """At every moment the pulse kept is the one that a look without timers would find."""
    rng = Random(seed)
    monitor = Monitor()
    for _ in range(3000):
        uid = rng.choice("abcdef")
        match rng.randrange(5):
            case 0 | 1:
                monitor.beat(uid, rng.choice((None, 0.0, 14.0, 15.0, 20.0, 30.0, 31.0, -1.0, -29.0, -31.0, -50.0)))
            case 2:
                monitor.heartbeats.forget(uid)
            case 3:
                monitor.clock.step_wall(rng.choice((-40.0, -5.0, 5.0, 40.0)))
                monitor.advance()
            case _:
                monitor.advance(rng.choice((0.1, 1.0, 5.0, 10.0)))
                twin = Heartbeats()
                for known, heartbeat in monitor.heartbeats._heartbeats.items():
                    twin._heartbeats[known] = heartbeat
                    want = twin._judge(known, monitor.clock.monotonic(), monitor.clock.wall())
                    assert monitor.heartbeats.pulse(known) is want
