"""The queue from outside: merging, activation from every state, timers, removal, and what people are shown."""

from math import inf

import pytest

from berth_server.queue.key import PendingState
from berth_server.queue.outcomes import Conflict, Error, Outcome, RetryAt
from tests.unit.queue.rig import FULL, LONELY, LONG, NOW, RELEASED, attempt, drain, fail, key, queue_in, queue_of

ACTIVE, BACKOFF, UNSCHEDULABLE = PendingState.ACTIVE, PendingState.BACKOFF, PendingState.UNSCHEDULABLE
IN_FLIGHT, RETRY_DELAY = PendingState.IN_FLIGHT, PendingState.RETRY_DELAY


@pytest.mark.parametrize("by_add", [True, False], ids=["add", "activate"])
@pytest.mark.parametrize(
    ("state", "after", "reset", "want"),
    [
        pytest.param(ACTIVE, 0.0, False, ACTIVE, id="active"),
        pytest.param(ACTIVE, 0.0, True, ACTIVE, id="active, spec changed"),
        pytest.param(BACKOFF, 0.0, False, BACKOFF, id="backoff"),
        pytest.param(BACKOFF, 1.0, False, ACTIVE, id="backoff that is over"),
        pytest.param(BACKOFF, 0.0, True, ACTIVE, id="backoff, spec changed"),
        pytest.param(UNSCHEDULABLE, 0.0, False, BACKOFF, id="unschedulable"),
        pytest.param(UNSCHEDULABLE, 1.0, False, ACTIVE, id="unschedulable, backoff over"),
        pytest.param(UNSCHEDULABLE, 0.0, True, ACTIVE, id="unschedulable, spec changed"),
        pytest.param(RETRY_DELAY, 0.0, False, ACTIVE, id="retry delay"),
        pytest.param(RETRY_DELAY, 0.0, True, ACTIVE, id="retry delay, spec changed"),
        pytest.param(IN_FLIGHT, 0.0, False, IN_FLIGHT, id="in flight"),
        pytest.param(IN_FLIGHT, 0.0, True, IN_FLIGHT, id="in flight, spec changed"),
    ],
)
def test_activation(state: PendingState, after: float, want: PendingState, *, reset: bool, by_add: bool) -> None:
    """It ends a waiting, never a backoff, unless the spec changed; and there is still one entry."""
    queue, _ = queue_in(state)
    if by_add:
        queue.add(key("a"), NOW + after, reset=reset)
    else:
        assert queue.activate("a", NOW + after, reset=reset)
    assert queue.state_of("a") is want
    assert sum(queue.counts().values()) == len(queue) == 1
    assert drain(queue, NOW + after) == ([] if state is IN_FLIGHT else ["a"])


@pytest.mark.parametrize("state", PendingState)
def test_counts_and_rows_say_where_a_key_is(state: PendingState) -> None:
    """Both tell the same."""
    queue, _ = queue_in(state)
    assert queue.counts() == {one: int(one is state) for one in PendingState}
    assert [row.state for row in queue.rows()] == [state]


@pytest.mark.parametrize("state", PendingState)
def test_a_removed_key_leaves_nothing(state: PendingState) -> None:
    """Whatever its state, nothing brings it back."""
    queue, number = queue_in(state)
    if state is IN_FLIGHT:
        queue.happened(RELEASED, NOW)
    queue.remove("a")
    assert "a" not in queue
    assert sum(queue.counts().values()) == len(queue) == queue.inflight_events == 0
    assert not queue.activate("a", NOW)
    assert queue.happened(RELEASED, NOW + LONG) == 0
    assert not queue.done(number, FULL, NOW)
    assert drain(queue, NOW + LONG) == []
    assert queue.next_due() == inf
    queue.remove("a")


@pytest.mark.parametrize("state", PendingState)
def test_a_known_key_takes_on_its_new_values(state: PendingState) -> None:
    """Priority, pool and arrival may change in any state; events of the new pool concern it from then on."""
    queue, number = queue_in(state)
    moved = key("a", pool="ns/js", priority=5, arrival=9)
    queue.add(moved, NOW)
    if state is IN_FLIGHT:
        queue.done(number, Conflict(), NOW)
    queue.add(key("b", priority=4), NOW)
    if queue.state_of("a") is ACTIVE:
        assert drain(queue) == ["a", "b"]
    else:
        assert drain(queue) == ["b", "a"]
    assert [row.key for row in queue.rows()] == [moved, key("b", priority=4)]


def test_a_key_in_flight_waits_in_its_new_pool() -> None:
    """The pool that it left can't cure it any more."""
    queue, number = queue_in(IN_FLIGHT)
    queue.add(key("a", pool="ns/js"), NOW)
    queue.done(number, FULL, NOW)
    fail(queue, NOW)
    assert queue.happened(RELEASED, NOW) == 0
    assert queue.state_of("a") is UNSCHEDULABLE


def test_pops_at_most_as_many_as_asked_and_none_twice() -> None:
    """Keys in flight are out of reach."""
    queue = queue_of(*(key(f"a{n}", arrival=n) for n in range(5)))
    assert [one.key.uid for one in queue.pop(NOW, limit=3)] == ["a0", "a1", "a2"]
    assert [one.key.uid for one in queue.pop(NOW, limit=3)] == ["a3", "a4"]
    assert queue.pop(NOW, limit=3) == []
    assert not queue.ready(NOW)


def test_attempts_have_numbers_of_their_own() -> None:
    """No two attempts share one, of one key or of several."""
    queue = queue_of(key("a"), key("b"))
    first = queue.pop(NOW, limit=2)
    for one in first:
        queue.done(one.attempt, Conflict(), NOW)
    numbers = [one.attempt for one in first + queue.pop(NOW, limit=2)]
    assert len(set(numbers)) == 4


def test_retry_delay_ends_at_its_time_and_never_early() -> None:
    """The delay is a rule of the item, not a backoff."""
    queue, _ = queue_in(RETRY_DELAY)
    assert queue.next_due() == NOW + LONG
    assert not queue.ready(NOW + LONG - 0.001)
    assert queue.pop(NOW + LONG - 0.001) == []
    assert queue.ready(NOW + LONG)
    attempt(queue, NOW + LONG)


def test_due_timers_fall_in_line_by_priority() -> None:
    """A key whose backoff ended goes before a less important one that was active all along."""
    queue = queue_of(key("urgent", priority=1))
    fail(queue, NOW, Error())
    queue.add(key("plain"), NOW)
    assert drain(queue, NOW + 1.0) == ["urgent", "plain"]


def test_next_due_is_the_earliest_timer_of_all() -> None:
    """One timer is enough to drive the queue."""
    queue = queue_of(key("a", priority=3), key("b", priority=2), key("c", priority=1))
    assert queue.next_due() == inf
    queue.done(attempt(queue, NOW, "a"), RetryAt(NOW + 5), NOW)
    assert queue.next_due() == NOW + 5
    fail(queue, NOW, Error(not_before=NOW + 3))
    assert queue.next_due() == NOW + 3
    fail(queue, NOW)
    assert queue.next_due() == NOW + 3
    queue.activate("c", NOW)
    assert queue.next_due() == NOW + 1


def test_rows_are_in_the_order_of_what_comes_next() -> None:
    """Active, in flight, in backoff (of both kinds, by time), in retry delay, unschedulable; places from 1 in each."""
    queue = queue_of()
    outcomes: dict[str, Outcome] = {"e": Error(not_before=NOW + 2), "v": FULL, "u2": LONELY, "u1": FULL}
    for uid, outcome in outcomes.items():
        queue.add(key(uid, arrival=int(uid[1:] or 0)), NOW)
        fail(queue, NOW, outcome)
    queue.activate("v", NOW)
    queue.add(key("r"), NOW)
    queue.done(attempt(queue, NOW, "r"), RetryAt(NOW + 1), NOW)
    queue.add(key("f"), NOW)
    attempt(queue, NOW, "f")
    queue.add(key("a1", arrival=1), NOW)
    queue.add(key("a9", arrival=9, priority=9), NOW)
    got = [(row.key.uid, row.state, row.position, row.not_before) for row in queue.rows()]
    assert got == [
        ("a9", ACTIVE, 1, None),
        ("a1", ACTIVE, 2, None),
        ("f", IN_FLIGHT, 1, None),
        ("v", BACKOFF, 1, NOW + 1),
        ("e", BACKOFF, 2, NOW + 2),
        ("r", RETRY_DELAY, 1, NOW + 1),
        ("u1", UNSCHEDULABLE, 1, None),
        ("u2", UNSCHEDULABLE, 2, None),
    ]
