"""The queue as plain lists: everything is looked for everywhere, and nothing that ever happened is thrown away."""

from dataclasses import dataclass
from math import inf

from berth_server.queue.events import ClusterEvent, Cures, Scope
from berth_server.queue.key import PendingState, QueueKey
from berth_server.queue.outcomes import Conflict, Error, Forget, Outcome, RetryAt, Unschedulable

JITTER = 0.5
ACTIVE, BACKOFF, UNSCHEDULABLE = PendingState.ACTIVE, PendingState.BACKOFF, PendingState.UNSCHEDULABLE
IN_FLIGHT, RETRY_DELAY = PendingState.IN_FLIGHT, PendingState.RETRY_DELAY


@dataclass
class Record:
    """One key. `view` counts the events that its attempt has seen."""

    key: QueueKey
    state: PendingState = ACTIVE
    attempts: int = 0
    errors: int = 0
    until: float = -inf
    retry_at: float = -inf
    reasons: tuple[str, ...] = ()
    attempt: int = 0
    view: int = 0
    activations: tuple[bool, ...] = ()

    @property
    def pool(self) -> tuple[str, str]:
        """Where it wants to go."""
        return self.key.namespace, self.key.runtime

    def activate(self, now: float, *, reset: bool) -> None:
        """Its wait for a cure is over."""
        if self.state is IN_FLIGHT:
            self.activations = (*self.activations, reset)
            return
        if reset:
            self.attempts, self.errors, self.until = 0, 0, -inf
        if self.state in {RETRY_DELAY, ACTIVE} or self.until <= now:
            self.state = ACTIVE
        else:
            self.state = BACKOFF


class Model:
    """What the queue must do."""

    def __init__(self, cures: Cures) -> None:
        self.cures = cures
        self.records: dict[str, Record] = {}
        self.history: list[ClusterEvent] = []
        self.turns: dict[int, list[tuple[str, str]]] = {}

    def among(self, *states: PendingState) -> list[Record]:
        """Return the records in these states."""
        return [record for record in self.records.values() if record.state in states]

    def add(self, key: QueueKey, now: float, *, reset: bool) -> None:
        """See PendingQueue."""
        if key.uid not in self.records:
            self.records[key.uid] = Record(key)
            return
        record = self.records[key.uid]
        if record.state is ACTIVE and record.key != key:
            del self.records[key.uid]
            self.settle()
            self.records[key.uid] = record
        record.key = key
        record.activate(now, reset=reset)

    def happened(self, event: ClusterEvent, now: float) -> int:
        """See PendingQueue."""
        self.history.append(event)
        cured = [record for record in self.among(UNSCHEDULABLE) if self.cured(record, [event])]
        for record in cured:
            record.activate(now, reset=False)
        return len(cured)

    def cured(self, record: Record, events: list[ClusterEvent]) -> bool:
        """Whether one of `events` can cure one of its reasons."""
        return any(
            cure.kind is event.kind
            and event.namespace == record.key.namespace
            and (cure.scope is Scope.NAMESPACE or event.runtime in {"", record.key.runtime})
            for event in events
            for reason in record.reasons
            for cure in self.cures.get(reason, ())
        )

    def pop(self, now: float) -> Record | None:
        """See PendingQueue; one at a time."""
        self.end_timers(now)
        record = self.next_active() or self.earliest_backoff()
        if record is None:
            return None
        record.state = IN_FLIGHT
        record.view = len(self.history)
        record.activations = ()
        return record

    def end_timers(self, now: float) -> None:
        """What has waited long enough is active."""
        for record in self.records.values():
            if (record.state is BACKOFF and record.until <= now) or (
                record.state is RETRY_DELAY and record.retry_at <= now
            ):
                record.state = ACTIVE

    def next_active(self) -> Record | None:
        """Return the oldest of the pool whose turn it is, among the highest priority."""
        active = sorted(self.among(ACTIVE), key=lambda record: record.key.order)
        if not active:
            return None
        priority = active[0].key.priority
        active = [record for record in active if record.key.priority == priority]
        pools = {record.pool for record in active}
        turns = self.turns.get(priority, [])
        while turns and turns[0] not in pools:
            turns = turns[1:]
        if not turns:
            oldest = {record.pool: record.key.arrival for record in reversed(active)}
            turns = sorted(pools, key=lambda pool: (oldest[pool], pool))
        self.turns[priority] = turns[1:]
        return next(record for record in active if record.pool == turns[0])

    def earliest_backoff(self) -> Record | None:
        """Return what may go early."""
        ready = [record for record in self.among(BACKOFF) if not record.errors]
        return min(ready, key=lambda record: (record.until, record.key.order), default=None)

    def done(self, record: Record, outcome: Outcome, now: float) -> None:
        """See PendingQueue."""
        if isinstance(outcome, Forget):
            del self.records[record.key.uid]
            return
        record.errors = record.errors + 1 if isinstance(outcome, Error) else 0
        record.reasons = ()
        match outcome:
            case Unschedulable(reasons=reasons):
                record.state, record.reasons = UNSCHEDULABLE, reasons
                record.attempts += 1
                record.until = now + delay(record.attempts)
            case Error(not_before=not_before):
                record.state = BACKOFF
                record.until = max(now + delay(record.errors), not_before)
            case RetryAt(until=until):
                record.state, record.retry_at = RETRY_DELAY, until
            case Conflict():
                record.state = ACTIVE
            case _:
                record.state = UNSCHEDULABLE
        if record.state is UNSCHEDULABLE and self.cured(record, self.history[record.view :]):
            record.activate(now, reset=False)
        for reset in record.activations:
            record.activate(now, reset=reset)

    def settle(self) -> None:
        """A priority without active keys has no round."""
        priorities = {record.key.priority for record in self.among(ACTIVE)}
        self.turns = {priority: turns for priority, turns in self.turns.items() if priority in priorities}


def delay(failures: int) -> float:
    """Return the backoff after that many failures in a row."""
    return [1.0, 2.0, 4.0, 8.0, 10.0][min(failures, 5) - 1] * (1 - 0.1 * JITTER)
