"""Freshness: the boundaries of trust, at first sight and after a stamp was seen to move, on diverging clocks."""

import math

import pytest

from berth_server.objects.clock import SECOND
from berth_server.state.freshness import Heartbeat, Pulse, first_sight, judge, observe
from tests.builders import MONOTONIC, NOW

FRESH, STALE, SKEWED = Pulse.FRESH, Pulse.STALE, Pulse.SKEWED


def at(age: float) -> int:
    """Give the stamp that is `age` seconds old, negative for one in the future."""
    return NOW - round(age * SECOND)


def judged(heartbeat: Heartbeat, after: float = 0.0, *, wall_step: float = 0.0) -> tuple[Pulse, float]:
    """Judge `after` seconds on, the wall clock stepped; return the pulse and how long it holds."""
    wall = NOW + round((after + wall_step) * SECOND)
    pulse, until = judge(heartbeat, monotonic=MONOTONIC + after, wall=wall)
    return pulse, until - (MONOTONIC + after)


def seen_first(age: float | None) -> Heartbeat:
    """See a stamp for the first time."""
    return first_sight(None if age is None else at(age), monotonic=MONOTONIC, wall=NOW)


def seen_to_move(age: float | None) -> Heartbeat:
    """See a stamp take the place of an earlier one."""
    before = first_sight(at(500), monotonic=MONOTONIC - 500, wall=NOW - 500 * SECOND)
    return observe(before, None if age is None else at(age), monotonic=MONOTONIC)


@pytest.mark.parametrize(
    ("age", "want_pulse", "want_holds"),
    [
        pytest.param(0.0, FRESH, 15.0, id="now"),
        pytest.param(5.0, FRESH, 10.0, id="5 s old: trusted for what is left"),
        pytest.param(14.9, FRESH, 0.1, id="14.9 s old"),
        pytest.param(15.0, FRESH, 0.0, id="15 s old: inclusive"),
        pytest.param(15.000001, STALE, math.inf, id="a microsecond beyond 15 s"),
        pytest.param(15.1, STALE, math.inf, id="15.1 s old"),
        pytest.param(30.1, STALE, math.inf, id="30.1 s old: stale, for it was never seen to move"),
        pytest.param(3600.0, STALE, math.inf, id="an hour old"),
        pytest.param(-0.05, FRESH, 15.0, id="50 ms ahead: a clock is never exact"),
        pytest.param(-30.0, FRESH, 15.0, id="30 s ahead: inclusive, and never more than 15 s of trust"),
        pytest.param(-30.000001, SKEWED, math.inf, id="a microsecond beyond 30 s ahead"),
        pytest.param(-30.1, SKEWED, math.inf, id="30.1 s ahead"),
        pytest.param(-3600.0, SKEWED, math.inf, id="an hour ahead"),
        pytest.param(None, STALE, math.inf, id="missing"),
    ],
)
def test_first_sight(age: float | None, want_pulse: Pulse, want_holds: float) -> None:
    """A stamp that nothing is known of is trusted for what is left of 15 s by its own account."""
    pulse, holds = judged(seen_first(age))
    assert pulse is want_pulse
    assert holds == pytest.approx(want_holds)


@pytest.mark.parametrize(
    ("age", "want_pulse", "want_holds"),
    [
        pytest.param(0.0, FRESH, 15.0, id="now"),
        pytest.param(15.1, FRESH, 14.9, id="15.1 s old: it moved, until it is 30 s old"),
        pytest.param(29.9, FRESH, 0.1, id="29.9 s old"),
        pytest.param(30.0, FRESH, 0.0, id="30 s old: inclusive"),
        pytest.param(30.1, SKEWED, 15.0, id="30.1 s old"),
        pytest.param(3600.0, SKEWED, 15.0, id="an hour old: stale once it stops moving"),
        pytest.param(-0.05, FRESH, 15.0, id="50 ms ahead"),
        pytest.param(-30.0, FRESH, 15.0, id="30 s ahead: inclusive"),
        pytest.param(-30.1, SKEWED, 0.1, id="30.1 s ahead: comes within bounds by itself"),
        pytest.param(-40.0, SKEWED, 10.0, id="40 s ahead"),
        pytest.param(-3600.0, SKEWED, 15.0, id="an hour ahead: stale once it stops moving"),
        pytest.param(None, STALE, math.inf, id="taken away"),
    ],
)
def test_seen_to_move(age: float | None, want_pulse: Pulse, want_holds: float) -> None:
    """A stamp that moved is trusted for 15 s of ours, unless it is 30 s off our wall clock."""
    pulse, holds = judged(seen_to_move(age))
    assert pulse is want_pulse
    assert holds == pytest.approx(want_holds)


@pytest.mark.parametrize(
    ("heartbeat", "after", "want"),
    [
        pytest.param(seen_first(5.0), 10.0, FRESH, id="first sight, 15 s old"),
        pytest.param(seen_first(5.0), 10.001, STALE, id="first sight, older"),
        pytest.param(seen_first(-20.0), 15.0, FRESH, id="first sight ahead, after 15 s"),
        pytest.param(seen_first(-20.0), 15.001, STALE, id="a stamp ahead never extends trust"),
        pytest.param(seen_first(-3600.0), 3600.0, SKEWED, id="skewed at first sight, until it moves"),
        pytest.param(seen_to_move(0.0), 15.0, FRESH, id="moved, after 15 s"),
        pytest.param(seen_to_move(0.0), 15.001, STALE, id="moved, later"),
        pytest.param(seen_to_move(20.0), 10.0, FRESH, id="moved by a slow clock, 30 s old"),
        pytest.param(seen_to_move(20.0), 10.001, SKEWED, id="moved by a slow clock, older"),
        pytest.param(seen_to_move(-40.0), 9.999, SKEWED, id="moved by a fast clock, still too far ahead"),
        pytest.param(seen_to_move(-40.0), 10.0, FRESH, id="moved by a fast clock, 30 s ahead by now"),
        pytest.param(seen_to_move(-3600.0), 15.001, STALE, id="not moving wins over being ahead"),
    ],
)
def test_time_passes(heartbeat: Heartbeat, after: float, want: Pulse) -> None:
    """The verdict changes at its boundary without any event."""
    assert judged(heartbeat, after)[0] is want


@pytest.mark.parametrize(
    ("wall_step", "want"),
    [
        pytest.param(30.0, FRESH, id="forward within bounds"),
        pytest.param(30.1, SKEWED, id="forward beyond"),
        pytest.param(-30.0, FRESH, id="back within bounds"),
        pytest.param(-3600.0, SKEWED, id="back an hour"),
    ],
)
def test_our_wall_clock_is_stepped(wall_step: float, want: Pulse) -> None:
    """A stamp that moved is held against the wall clock as it is now; its age is not."""
    assert judged(seen_to_move(0.0), wall_step=wall_step)[0] is want


@pytest.mark.parametrize(
    "heartbeat",
    [pytest.param(seen_first(5.0), id="first sight"), pytest.param(seen_to_move(5.0), id="moved")],
)
def test_the_same_stamp_again_is_no_heartbeat(heartbeat: Heartbeat) -> None:
    """An observation that leaves the stamp as it was does not extend trust."""
    assert observe(heartbeat, at(5.0), monotonic=MONOTONIC + 14) == heartbeat


def test_a_stamp_that_goes_back_has_moved() -> None:
    """The value is a token: a writer whose clock was set back 20 s is alive."""
    heartbeat = observe(seen_to_move(0.0), at(20.0), monotonic=MONOTONIC + 1)
    assert judged(heartbeat, 1.0)[0] is FRESH
    assert judged(heartbeat, 10.5)[0] is SKEWED


def test_a_stamp_that_is_taken_away_and_given_back_has_moved() -> None:
    """A missing stamp is stale at once; the next one counts as seen to change."""
    taken = observe(seen_to_move(0.0), None, monotonic=MONOTONIC + 1)
    assert judged(taken, 1.0)[0] is STALE
    assert judged(observe(taken, at(0.0), monotonic=MONOTONIC + 2), 16.9)[0] is FRESH
