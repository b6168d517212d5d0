"""The log of events that attempts in flight have not seen: complete, and small."""

from berth_server.objects.changes import ChangeKind
from berth_server.queue.events import ClusterEvent
from berth_server.queue.inflight import InFlightLog
from berth_server.queue.outcomes import Conflict, Forget
from tests.unit.queue.rig import CURES, FOREIGN, FULL, NOW, RELEASED, fail, key, queue_of

ADDED = ClusterEvent(ChangeKind.TARGET_ADDED, "ns", "js")
FULL_CURES = CURES["Full"]


def test_keeps_nothing_while_nothing_is_in_flight() -> None:
    """There is nobody to tell."""
    log = InFlightLog()
    log.append(RELEASED)
    assert len(log) == 0
    log.look(1)
    assert not log.cured(1, key("a"), FULL_CURES)


def test_keeps_what_the_oldest_attempt_has_not_seen() -> None:
    """It is trimmed when that attempt looks again or ends, however many newer ones there are."""
    log = InFlightLog()
    log.look(1)
    log.append(RELEASED)
    log.look(2)
    log.append(ADDED)
    assert (len(log), log.cured(1, key("a"), FULL_CURES), log.cured(2, key("a"), FULL_CURES)) == (2, True, False)
    log.look(1)
    assert len(log) == 1
    assert log.cured(2, key("a"), CURES["Lonely"])
    log.end(2)
    assert len(log) == 0
    log.append(ADDED)
    log.end(1)
    assert len(log) == 0
    assert (log._newest, log._events) == ({}, {})


def test_a_repeated_event_counts_at_its_newest_place() -> None:
    """Else an attempt that looked between the two would miss the second."""
    log = InFlightLog()
    log.look(1)
    log.append(RELEASED)
    log.append(FOREIGN)
    log.look(2)
    log.append(RELEASED)
    assert len(log) == 2
    assert log.cured(2, key("a"), FULL_CURES)
    assert not log.cured(2, key("a", pool="ns/js"), FULL_CURES)
    log.end(1)
    assert len(log) == 1


def test_newest_of_a_kind_survives_the_trimming_of_older_ones() -> None:
    """A namespace-wide cure looks at the newest event of its kind, whichever runtime it names."""
    log = InFlightLog()
    log.look(1)
    log.append(ClusterEvent(ChangeKind.TARGET_ADDED, "ns", "py"))
    log.look(2)
    log.append(ADDED)
    log.end(1)
    assert len(log) == 1
    assert log.cured(2, key("a"), CURES["Lonely"])


def test_a_storm_beside_stuck_attempts_is_bounded() -> None:
    """One loses its key, eight end, one lingers: 100,000 events of four kinds take four places."""
    queue = queue_of(*(key(f"a{number}") for number in range(10)))
    attempts = {popped.key.uid: popped.attempt for popped in queue.pop(NOW, limit=10)}
    storm = [RELEASED, FOREIGN, ADDED, ClusterEvent(ChangeKind.CANDIDATE_AVAILABLE, "ns", "py")]
    for number in range(100_000):
        queue.happened(storm[number % len(storm)], NOW)
    assert queue.inflight_events == len(storm)
    queue.remove("a1")
    queue.done(attempts["a1"], Forget(), NOW)
    for uid in sorted(attempts.keys() - {"a1", "a9"}):
        queue.done(attempts[uid], Conflict(), NOW)
    assert queue.inflight_events == len(storm)
    queue.done(attempts["a9"], Forget(), NOW)
    assert queue.inflight_events == 0
    fail(queue, NOW, FULL)
    assert queue.inflight_events == 0
