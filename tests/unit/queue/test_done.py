"""Where a key goes after an attempt: every row of the table, undisturbed and disturbed while in flight."""

from math import inf

import pytest

from berth_server.objects.changes import ChangeKind
from berth_server.queue.events import ClusterEvent
from berth_server.queue.key import PendingState
from berth_server.queue.outcomes import Conflict, Error, Forget, Held, Outcome, ReservedForOther, RetryAt, Unschedulable
from tests.unit.queue.rig import FOREIGN, FULL, LONELY, NOW, RELEASED, attempt, fail, key, queue_in, queue_of

ACTIVE, BACKOFF, UNSCHEDULABLE = PendingState.ACTIVE, PendingState.BACKOFF, PendingState.UNSCHEDULABLE
RETRY_DELAY = PendingState.RETRY_DELAY
HELD = Held("MemberOfGroup", "waits for its group")


@pytest.mark.parametrize(
    ("outcome", "want_state", "want_attempts", "want_errors", "want_not_before", "want_words"),
    [
        pytest.param(Forget(), None, 0, 0, None, None, id="forgotten"),
        pytest.param(FULL, UNSCHEDULABLE, 1, 0, None, (("Full",), FULL.message), id="unschedulable"),
        pytest.param(HELD, UNSCHEDULABLE, 0, 0, None, (("MemberOfGroup",), "waits for its group"), id="held"),
        pytest.param(ReservedForOther(), UNSCHEDULABLE, 0, 0, None, (("ReservedForOther",), ""), id="reserved"),
        pytest.param(Conflict(), ACTIVE, 0, 0, None, ((), ""), id="conflict"),
        pytest.param(RetryAt(NOW + 7), RETRY_DELAY, 0, 0, NOW + 7, ((), ""), id="retry delay"),
        pytest.param(Error("down"), BACKOFF, 0, 1, NOW + 1, ((), "down"), id="error"),
        pytest.param(Error("429", NOW + 60), BACKOFF, 0, 1, NOW + 60, ((), "429"), id="error, told when"),
        pytest.param(Error("429", NOW + 0.1), BACKOFF, 0, 1, NOW + 1, ((), "429"), id="error, told too soon"),
    ],
)
def test_first_outcome(
    outcome: Outcome,
    want_state: PendingState | None,
    want_attempts: int,
    want_errors: int,
    want_not_before: float | None,
    want_words: tuple[tuple[str, ...], str] | None,
) -> None:
    """Nothing happened in flight: the outcome alone decides."""
    queue, number = queue_in(PendingState.IN_FLIGHT)
    assert queue.done(number, outcome, NOW)
    assert queue.state_of("a") is want_state
    assert queue.inflight_events == 0
    rows = list(queue.rows())
    if want_state is None:
        assert rows == []
        return
    (row,) = rows
    assert (row.attempts, row.errors, row.not_before) == (want_attempts, want_errors, want_not_before)
    assert (row.reasons, row.message) == want_words


@pytest.mark.parametrize("disturbance", ["cure", "activation", "spec change", "stranger"])
@pytest.mark.parametrize(
    ("outcome", "want"),
    [
        pytest.param(Forget(), (None, None, None, None), id="forgotten"),
        pytest.param(FULL, (BACKOFF, BACKOFF, ACTIVE, UNSCHEDULABLE), id="unschedulable"),
        pytest.param(HELD, (UNSCHEDULABLE, ACTIVE, ACTIVE, UNSCHEDULABLE), id="held"),
        pytest.param(ReservedForOther(), (UNSCHEDULABLE, ACTIVE, ACTIVE, UNSCHEDULABLE), id="reserved"),
        pytest.param(Conflict(), (ACTIVE, ACTIVE, ACTIVE, ACTIVE), id="conflict"),
        pytest.param(RetryAt(NOW + 7), (RETRY_DELAY, ACTIVE, ACTIVE, RETRY_DELAY), id="retry delay"),
        pytest.param(Error(), (BACKOFF, BACKOFF, ACTIVE, BACKOFF), id="error"),
    ],
)
def test_what_happens_in_flight_takes_effect_at_the_end(
    outcome: Outcome, want: tuple[PendingState | None, ...], disturbance: str
) -> None:
    """An activation or a cure counts as if it came right after the outcome; what cures something else does not."""
    queue, number = queue_in(PendingState.IN_FLIGHT)
    queue.planned(number)
    match disturbance:
        case "cure":
            assert queue.happened(RELEASED, NOW) == 0
        case "stranger":
            queue.happened(FOREIGN, NOW)
        case _:
            assert queue.activate("a", NOW, reset=disturbance == "spec change")
    assert queue.state_of("a") is PendingState.IN_FLIGHT
    queue.done(number, outcome, NOW)
    wants = dict(zip(["cure", "activation", "spec change", "stranger"], want, strict=True))
    assert queue.state_of("a") is wants[disturbance]
    assert queue.inflight_events == 0


def test_a_remembered_activation_is_spent_once() -> None:
    """The next attempt does not inherit what happened during the one before."""
    queue, number = queue_in(PendingState.IN_FLIGHT)
    queue.activate("a", NOW, reset=True)
    queue.done(number, FULL, NOW)
    fail(queue, NOW)
    assert queue.state_of("a") is UNSCHEDULABLE
    assert next(queue.rows()).attempts == 1


@pytest.mark.parametrize(
    ("outcome", "event", "want"),
    [
        pytest.param(FULL, RELEASED, BACKOFF, id="pool"),
        pytest.param(FULL, FOREIGN, UNSCHEDULABLE, id="another pool"),
        pytest.param(FULL, ClusterEvent(ChangeKind.CAPACITY_RELEASED, "ns"), BACKOFF, id="whole namespace"),
        pytest.param(FULL, ClusterEvent(ChangeKind.CAPACITY_RELEASED, "other", "py"), UNSCHEDULABLE, id="namespace"),
        pytest.param(FULL, ClusterEvent(ChangeKind.CANDIDATE_CAPACITY, "ns", "py"), UNSCHEDULABLE, id="another kind"),
        pytest.param(LONELY, ClusterEvent(ChangeKind.TARGET_ADDED, "ns", "js"), BACKOFF, id="namespace-wide cure"),
        pytest.param(LONELY, ClusterEvent(ChangeKind.TARGET_ADDED, "ns"), BACKOFF, id="namespace-wide, no runtime"),
        pytest.param(LONELY, ClusterEvent(ChangeKind.TARGET_ADDED, "other", "py"), UNSCHEDULABLE, id="far away"),
    ],
)
@pytest.mark.parametrize("waits", [True, False], ids=["waiting", "in flight"])
def test_an_event_cures_alike_in_flight_and_after(
    outcome: Unschedulable, event: ClusterEvent, want: PendingState, *, waits: bool
) -> None:
    """It makes no difference whether the event comes just before the verdict is in, or just after."""
    queue, number = queue_in(PendingState.IN_FLIGHT)
    if waits:
        queue.done(number, outcome, NOW)
        assert queue.happened(event, NOW) == (want is BACKOFF)
    else:
        queue.happened(event, NOW)
        queue.done(number, outcome, NOW)
    assert queue.state_of("a") is want


def test_only_the_last_look_counts() -> None:
    """What an attempt saw when it planned is no news to it."""
    queue, number = queue_in(PendingState.IN_FLIGHT)
    queue.happened(RELEASED, NOW)
    assert queue.planned(number)
    assert queue.inflight_events == 0
    queue.done(number, FULL, NOW)
    assert queue.state_of("a") is UNSCHEDULABLE


def test_several_reasons_are_cured_by_any() -> None:
    """Which of its reasons is in the way last, nobody knows."""
    queue, number = queue_in(PendingState.IN_FLIGHT)
    queue.done(number, Unschedulable(("Hopeless", "Lonely", "Full"), ""), NOW)
    assert queue.happened(ClusterEvent(ChangeKind.TARGET_ADDED, "ns", "js"), NOW + 5) == 1
    assert queue.state_of("a") is ACTIVE


@pytest.mark.parametrize("outcome", [FULL, Forget(), Error(), Conflict(), RetryAt(inf)], ids=lambda o: type(o).__name__)
def test_the_end_of_an_attempt_that_is_over(outcome: Outcome) -> None:
    """A removed key stays removed, and one that came again with the same UID is another."""
    queue, old = queue_in(PendingState.IN_FLIGHT)
    queue.happened(RELEASED, NOW)
    queue.remove("a")
    assert queue.inflight_events == 0
    assert not queue.planned(old)
    assert not queue.done(old, outcome, NOW)
    assert len(queue) == 0
    queue.add(key("a"), NOW)
    new = attempt(queue, NOW)
    assert not queue.done(old, outcome, NOW)
    assert queue.state_of("a") is PendingState.IN_FLIGHT
    assert queue.done(new, FULL, NOW)
    assert not queue.done(new, outcome, NOW)
    assert queue.state_of("a") is UNSCHEDULABLE


def test_an_unknown_reason_changes_nothing() -> None:
    """The bug is loud, and the attempt can still be ended as an error."""
    queue, number = queue_in(PendingState.IN_FLIGHT)
    with pytest.raises(KeyError):
        queue.done(number, Unschedulable(("Full", "Typo"), ""), NOW)
    assert queue.state_of("a") is PendingState.IN_FLIGHT
    assert queue.done(number, Error("bug"), NOW)


def test_a_verdict_needs_a_reason() -> None:
    """Without one nothing could ever cure it."""
    with pytest.raises(ValueError, match="reason"):
        Unschedulable((), "")


def test_a_conflict_keeps_its_turn() -> None:
    """The loser of a race is tried before those that came later."""
    queue = queue_of(key("a", arrival=1), key("b", arrival=2))
    queue.done(attempt(queue, NOW), Conflict(), NOW)
    attempt(queue, NOW, "a")
