"""Keys, a table of cures, and ways to bring a key into a state."""

from collections.abc import Callable

from berth_server.objects.changes import ChangeKind
from berth_server.queue.events import ClusterEvent, Cure, Scope
from berth_server.queue.key import PendingState, QueueKey
from berth_server.queue.outcomes import Outcome, RetryAt, Unschedulable
from berth_server.queue.pending import PendingQueue

CURES = {
    "Full": frozenset({Cure(ChangeKind.CAPACITY_RELEASED, Scope.POOL), Cure(ChangeKind.CANDIDATE_ADDED, Scope.POOL)}),
    "Lonely": frozenset({Cure(ChangeKind.TARGET_ADDED, Scope.NAMESPACE)}),
    "Hopeless": frozenset[Cure](),
}
FULL = Unschedulable(("Full",), "0/1 runtime pods: 1 Full")
LONELY = Unschedulable(("Lonely",), "0/1 runtime pods: 1 Lonely")
RELEASED = ClusterEvent(ChangeKind.CAPACITY_RELEASED, "ns", "py")
FOREIGN = ClusterEvent(ChangeKind.CAPACITY_RELEASED, "ns", "js")
NOW = 1000.0
LONG = 30.0


def key(uid: str, *, pool: str = "ns/py", priority: int = 0, arrival: int = 0) -> QueueKey:
    """Build a key."""
    namespace, runtime = pool.split("/")
    return QueueKey(uid, namespace, runtime, priority, arrival)


def queue_of(*keys: QueueKey, jitter: Callable[[], float] = lambda: 0.0, now: float = NOW) -> PendingQueue:
    """Build a queue in which `keys` are active."""
    queue = PendingQueue(CURES, jitter)
    for one in keys:
        queue.add(one, now)
    return queue


def attempt(queue: PendingQueue, now: float, want_uid: str = "a") -> int:
    """Begin the next attempt, which must be that of `want_uid`."""
    (popped,) = queue.pop(now)
    assert popped.key.uid == want_uid
    return popped.attempt


def fail(queue: PendingQueue, now: float, outcome: Outcome = FULL) -> None:
    """Try the next key at `now`, in vain."""
    (popped,) = queue.pop(now)
    queue.done(popped.attempt, outcome, now)


def queue_in(state: PendingState) -> tuple[PendingQueue, int]:
    """Build a queue with key `a` in `state` at NOW, its backoff (if any) not over; and its last attempt."""
    queue = queue_of(key("a"))
    if state is PendingState.ACTIVE:
        return queue, 0
    number = attempt(queue, NOW)
    if state is PendingState.RETRY_DELAY:
        queue.done(number, RetryAt(NOW + LONG), NOW)
    elif state is not PendingState.IN_FLIGHT:
        queue.done(number, FULL, NOW)
        if state is PendingState.BACKOFF:
            queue.activate("a", NOW)
    assert queue.state_of("a") is state
    return queue, number


def drain(queue: PendingQueue, now: float = NOW) -> list[str]:
    """Pop everything, one by one."""
    uids: list[str] = []
    while popped := queue.pop(now):
        uids.extend(one.key.uid for one in popped)
    return uids
