"""The queue against a model of plain lists, under any order of calls: nothing lost, nothing twice, the right order."""

from collections import Counter
from math import inf

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from berth_server.objects.changes import ChangeKind
from berth_server.queue.events import ClusterEvent, Cure, Scope
from berth_server.queue.key import PendingState, QueueKey
from berth_server.queue.outcomes import Conflict, Error, Forget, Held, Outcome, ReservedForOther, RetryAt, Unschedulable
from berth_server.queue.pending import PendingQueue
from tests.property.queue_model import JITTER, Model, Record

CURES = {
    "Full": frozenset({Cure(ChangeKind.CAPACITY_RELEASED, Scope.POOL), Cure(ChangeKind.CANDIDATE_ADDED, Scope.POOL)}),
    "Lonely": frozenset({Cure(ChangeKind.TARGET_ADDED, Scope.NAMESPACE), Cure(ChangeKind.CANDIDATE_ADDED, Scope.POOL)}),
    "Lost": frozenset({Cure(ChangeKind.CAPACITY_RELEASED, Scope.NAMESPACE)}),
    "Hopeless": frozenset[Cure](),
}
UIDS = st.sampled_from("abcdef")
KEYS = st.builds(
    QueueKey,
    UIDS,
    namespace=st.sampled_from(["n", "m"]),
    runtime=st.sampled_from(["py", "js"]),
    priority=st.sampled_from([0, 0, 0, 5]),
    arrival=st.integers(0, 2),
)
EVENTS = st.builds(
    ClusterEvent,
    st.sampled_from([ChangeKind.CAPACITY_RELEASED, ChangeKind.CANDIDATE_ADDED, ChangeKind.TARGET_ADDED]),
    namespace=st.sampled_from(["n", "n", "m"]),
    runtime=st.sampled_from(["py", "js", ""]),
)
REASONS = st.lists(st.sampled_from(sorted(CURES)), min_size=1, max_size=3, unique=True).map(tuple)
SOON = st.sampled_from([0.0, 0.4, 3.0, 40.0])
ATTEMPTS = st.integers(0, 5)


class Queue(RuleBasedStateMachine):
    """Does everything to the queue and to the model, and compares them after each step."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.queue = PendingQueue(CURES, lambda: JITTER)
        self.model = Model(CURES)
        self.over: list[int] = []
        """Attempts that ended."""

    @rule(key=KEYS, reset=st.booleans())
    def add(self, key: QueueKey, *, reset: bool) -> None:
        """A Run appears, or changes."""
        self.queue.add(key, self.now, reset=reset)
        self.model.add(key, self.now, reset=reset)

    @rule(uid=UIDS)
    def remove(self, uid: str) -> None:
        """A Run goes, perhaps while it is tried."""
        self.queue.remove(uid)
        record = self.model.records.pop(uid, None)
        if record is not None and record.state is PendingState.IN_FLIGHT:
            self.over.append(record.attempt)

    @initialize(keys=st.lists(KEYS, min_size=3, max_size=6))
    def begin(self, keys: list[QueueKey]) -> None:
        """There is something to do."""
        for key in keys:
            self.add(key, reset=False)

    @rule(uid=UIDS, reset=st.booleans())
    def activate(self, uid: str, *, reset: bool) -> None:
        """A Run changes on its own."""
        known = uid in self.model.records
        assert self.queue.activate(uid, self.now, reset=reset) is known
        if known:
            self.model.records[uid].activate(self.now, reset=reset)

    @rule(event=EVENTS)
    def happened(self, event: ClusterEvent) -> None:
        """The cluster changes."""
        assert self.queue.happened(event, self.now) == self.model.happened(event, self.now)

    @rule(limit=st.integers(1, 3))
    def pop(self, limit: int) -> None:
        """A driver takes keys."""
        popped = self.queue.pop(self.now, limit)
        for one in popped:
            record = self.model.pop(self.now)
            assert record is not None
            assert one.key == record.key
            record.attempt = one.attempt
            self.model.settle()
        if len(popped) < limit:
            assert self.model.pop(self.now) is None

    @rule(reasons=REASONS, event=st.none() | EVENTS)
    def fail_next(self, reasons: tuple[str, ...], event: ClusterEvent | None) -> None:
        """A whole attempt in vain, with an event under way: what a full cluster does all day."""
        self.pop(1)
        if self.model.among(PendingState.IN_FLIGHT):
            self.planned(0)
            if event is not None:
                self.happened(event)
            self.done(0, Unschedulable(reasons, ""))

    def flying(self, pick: int) -> Record:
        """Return one of the attempts in flight."""
        records = self.model.among(PendingState.IN_FLIGHT)
        return records[pick % len(records)]

    @precondition(lambda self: self.model.among(PendingState.IN_FLIGHT))
    @rule(pick=ATTEMPTS)
    def planned(self, pick: int) -> None:
        """An attempt looks."""
        record = self.flying(pick)
        assert self.queue.planned(record.attempt)
        record.view = len(self.model.history)

    @precondition(lambda self: self.model.among(PendingState.IN_FLIGHT))
    @rule(
        pick=ATTEMPTS,
        outcome=st.one_of(
            st.builds(Unschedulable, REASONS, st.just("")),
            st.sampled_from([Forget(), Held("x", ""), ReservedForOther(), Conflict(), Error()]),
            st.builds(RetryAt, SOON) | st.builds(Error, st.just(""), SOON),
        ),
    )
    def done(self, pick: int, outcome: Outcome) -> None:
        """An attempt ends; times of outcomes are drawn relative to now."""
        match outcome:
            case RetryAt(until=seconds):
                outcome = RetryAt(self.now + seconds)
            case Error(not_before=seconds):
                outcome = Error("", self.now + seconds)
        record = self.flying(pick)
        assert self.queue.done(record.attempt, outcome, self.now)
        self.over.append(record.attempt)
        self.model.done(record, outcome, self.now)

    @precondition(lambda self: self.over)
    @rule(pick=st.integers(0, 1000))
    def late(self, pick: int) -> None:
        """An attempt that is over comes back."""
        attempt = self.over[pick % len(self.over)]
        assert not self.queue.planned(attempt)
        assert not self.queue.done(attempt, Conflict(), self.now)

    @rule(seconds=SOON)
    def wait(self, seconds: float) -> None:
        """Time goes by."""
        self.now += seconds

    @invariant()
    def has_every_key_once_where_it_belongs(self) -> None:
        """States, counters and timers are those of the model."""
        self.model.settle()
        got = {row.key.uid: (row.key, row.state, row.attempts, row.errors) for row in self.queue.rows()}
        want = {
            uid: (record.key, record.state, record.attempts, record.errors)
            for uid, record in self.model.records.items()
        }
        assert got == want
        assert len(list(self.queue.rows())) == len(self.queue) == len(want)
        states = Counter(record.state for record in self.model.records.values())
        assert self.queue.counts() == {state: states[state] for state in PendingState}

    @invariant()
    def tells_when_it_has_something(self) -> None:
        """`next_due` and `ready` are those of the model."""
        timers = [record.until for record in self.model.among(PendingState.BACKOFF)]
        timers += [record.retry_at for record in self.model.among(PendingState.RETRY_DELAY)]
        assert self.queue.next_due() == min(timers, default=inf)
        ready = (
            self.model.among(PendingState.ACTIVE)
            or self.model.earliest_backoff()
            or min(timers, default=inf) <= self.now
        )
        assert self.queue.ready(self.now) is bool(ready)

    @invariant()
    def lists_the_active_in_the_order_of_popping(self) -> None:
        """The list is what a driver would get if nothing else happened."""
        rows = [row.key.uid for row in self.queue.rows() if row.state is PendingState.ACTIVE]
        turns = {priority: list(pools) for priority, pools in self.model.turns.items()}
        popped: list[Record] = []
        while record := self.model.next_active():
            record.state = PendingState.IN_FLIGHT
            popped.append(record)
            self.model.settle()
        for record in popped:
            record.state = PendingState.ACTIVE
        self.model.turns = turns
        assert rows == [record.key.uid for record in popped]

    @invariant()
    def keeps_no_event_that_nobody_needs(self) -> None:
        """The log has the distinct events since the oldest view, and is empty when nothing is in flight."""
        views = [record.view for record in self.model.among(PendingState.IN_FLIGHT)]
        unseen = self.model.history[min(views) :] if views else []
        assert self.queue.inflight_events == len(set(unseen))


TestQueue = Queue.TestCase
TestQueue.settings = settings(
    max_examples=200, stateful_step_count=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
