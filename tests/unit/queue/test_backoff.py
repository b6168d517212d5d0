"""How long a key stays away, what ends that, and what does not."""

from collections.abc import Callable
from math import inf

import pytest

from berth_server.queue.backoff import backoff
from berth_server.queue.key import PendingRow, PendingState
from berth_server.queue.outcomes import Conflict, Error, Forget, Held, Outcome, ReservedForOther, RetryAt
from berth_server.queue.pending import PendingQueue
from tests.unit.queue.rig import FULL, LONG, NOW, RELEASED, attempt, fail, key, queue_in, queue_of

FIGURES = [1.0, 2.0, 4.0, 8.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0]


def only_row(queue: PendingQueue) -> PendingRow:
    """Return the row of a queue with one key."""
    (row,) = queue.rows()
    return row


@pytest.mark.parametrize(
    ("jitter", "want_share"), [pytest.param(0.0, 1.0, id="none"), pytest.param(0.999, 0.9001, id="most")]
)
def test_figures(jitter: float, want_share: float) -> None:
    """Doubles up to the limit, less up to a tenth."""
    got = [backoff(n, lambda: jitter) for n in range(1, 11)]
    assert got == pytest.approx([full * want_share for full in FIGURES])


def test_the_count_has_no_limit() -> None:
    """An item that waits for a day fails thousands of times, more than a float has powers of two."""
    assert backoff(100_000, lambda: 0.0) == 10.0


@pytest.mark.parametrize("jitter", [0.0, 0.999])
@pytest.mark.parametrize("outcome", [FULL, Error()], ids=["unschedulable", "error"])
def test_backoff_grows_across_jumps_of_the_clock(outcome: Outcome, jitter: float) -> None:
    """However long a pass over the queue takes, it is not forgotten; it begins at the end of the attempt."""
    queue = queue_of(key("a"), jitter=lambda: jitter)
    now = NOW
    got = []
    for _ in FIGURES:
        number = attempt(queue, now)
        ended = now + 3.0
        queue.done(number, outcome, ended)
        queue.activate("a", ended)
        assert queue.state_of("a") is PendingState.BACKOFF
        got.append(queue.next_due() - ended)
        now = ended + 2 * FIGURES[-1]
    assert got == pytest.approx([full * (1 - jitter / 10) for full in FIGURES])


def test_a_stream_of_wakeups_ends_no_backoff() -> None:
    """Events end the waiting for a cure, and nothing more."""
    queue, _ = queue_in(PendingState.UNSCHEDULABLE)
    due = NOW + 1.0
    assert queue.happened(RELEASED, NOW) == 1
    for tick in range(100):
        queue.happened(RELEASED, NOW + tick / 1000)
        queue.activate("a", NOW + tick / 1000)
    assert queue.state_of("a") is PendingState.BACKOFF
    assert queue.next_due() == due
    assert only_row(queue).attempts == 1


def test_backoff_ends_inclusively_at_its_time() -> None:
    """A timer that is set for that very moment finds the key active."""
    queue = queue_of(key("a"))
    fail(queue, NOW, Error())
    assert queue.pop(NOW + 0.999) == []
    assert not queue.ready(NOW + 0.999)
    assert queue.ready(NOW + 1.0)
    attempt(queue, NOW + 1.0)


def test_goes_early_when_nothing_else_is_active() -> None:
    """An idle scheduler wastes no time; the count stays, and the backoff that follows is the next."""
    queue, _ = queue_in(PendingState.BACKOFF)
    assert queue.ready(NOW)
    number = attempt(queue, NOW)
    queue.done(number, FULL, NOW)
    queue.activate("a", NOW)
    assert (only_row(queue).attempts, queue.next_due()) == (2, NOW + 2.0)


def test_the_earliest_goes_early_and_only_after_the_active() -> None:
    """One call is as many calls for one."""
    queue = queue_of(key("long"))
    fail(queue, NOW)
    queue.activate("long", NOW)
    fail(queue, NOW)
    queue.activate("long", NOW)
    queue.add(key("short"), NOW)
    fail(queue, NOW)
    queue.activate("short", NOW)
    queue.add(key("error", priority=9), NOW)
    fail(queue, NOW, Error())
    queue.add(key("active"), NOW)
    assert [popped.key.uid for popped in queue.pop(NOW, limit=9)] == ["active", "short", "long"]
    assert queue.state_of("error") is PendingState.BACKOFF


def test_a_failing_server_is_not_hurried() -> None:
    """Early tries are for those that may fit, not for those whose last try broke."""
    queue = queue_of(key("a"))
    fail(queue, NOW, Error())
    queue.activate("a", NOW)
    queue.happened(RELEASED, NOW)
    assert queue.pop(NOW) == []
    assert queue.next_due() == NOW + 1.0


def test_errors_and_verdicts_count_apart() -> None:
    """An outage does not make an item wait as if it had not fit, nor the other way round."""
    queue = queue_of(key("a"))
    now = NOW
    got = []
    outcomes: list[Outcome] = [FULL, FULL, Error(), Error(), Error(), FULL, Error()]
    for outcome in outcomes:
        fail(queue, now, outcome)
        queue.activate("a", now)
        row = only_row(queue)
        assert row.not_before is not None
        got.append((row.attempts, row.errors, row.not_before - now))
        now += LONG
    assert got == [(1, 0, 1), (2, 0, 2), (2, 1, 1), (2, 2, 2), (2, 3, 4), (3, 0, 4), (3, 1, 1)]


@pytest.mark.parametrize(
    "outcome", [Held("x", ""), ReservedForOther(), Conflict(), RetryAt(NOW)], ids=lambda o: type(o).__name__
)
def test_other_outcomes_end_a_row_of_errors_only(outcome: Outcome) -> None:
    """They say that the servers answer, not that the item fits."""
    queue = queue_of(key("a"))
    fail(queue, NOW)
    queue.activate("a", NOW)
    fail(queue, NOW, Error())
    assert (only_row(queue).attempts, only_row(queue).errors) == (1, 1)
    queue.done(attempt(queue, NOW + LONG), outcome, NOW + LONG)
    assert (only_row(queue).attempts, only_row(queue).errors) == (1, 0)


@pytest.mark.parametrize("outcome", [Held("x", ""), ReservedForOther()], ids=lambda o: type(o).__name__)
def test_an_earlier_backoff_still_counts(outcome: Outcome) -> None:
    """A key that went early and met something else waits no longer, and no shorter, than before."""
    queue, _ = queue_in(PendingState.BACKOFF)
    queue.done(attempt(queue, NOW), outcome, NOW)
    queue.activate("a", NOW)
    assert only_row(queue).not_before == NOW + 1.0


@pytest.mark.parametrize("outcome", [Conflict(), RetryAt(NOW + LONG)], ids=lambda o: type(o).__name__)
def test_an_earlier_backoff_holds_back_no_other_wait(outcome: Outcome) -> None:
    """A lost race is run again at once, and a retry delay has its own rule."""
    queue, _ = queue_in(PendingState.BACKOFF)
    queue.done(attempt(queue, NOW), outcome, NOW)
    queue.activate("a", NOW)
    assert queue.state_of("a") is PendingState.ACTIVE


def _by_add(queue: PendingQueue) -> None:
    queue.add(key("a"), NOW, reset=True)


def _by_activate(queue: PendingQueue) -> None:
    queue.activate("a", NOW, reset=True)


@pytest.mark.parametrize("change", [_by_add, _by_activate])
@pytest.mark.parametrize("outcome", [FULL, Error()], ids=["unschedulable", "error"])
def test_a_new_spec_starts_anew(outcome: Outcome, change: Callable[[PendingQueue], None]) -> None:
    """Counters and backoff speak of a spec that is no more."""
    queue = queue_of(key("a"))
    fail(queue, NOW, outcome)
    change(queue)
    row = only_row(queue)
    assert (row.state, row.attempts, row.errors) == (PendingState.ACTIVE, 0, 0)
    assert queue.next_due() == inf


def test_success_starts_anew() -> None:
    """A Run that is bound, fails and comes again has no backoff from before."""
    queue, _ = queue_in(PendingState.BACKOFF)
    queue.done(attempt(queue, NOW), Forget(), NOW)
    queue.add(key("a"), NOW)
    assert only_row(queue).attempts == 0
    fail(queue, NOW)
    queue.activate("a", NOW)
    assert queue.next_due() == NOW + 1.0
