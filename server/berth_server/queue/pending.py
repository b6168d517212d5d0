"""The queue of pending items: one entry a key, and one place that moves it after an attempt.

An activation ends the waiting for a cure, never the backoff: else a stream of events would give every item the pace of
a new one. Nothing here reads a clock; `now` is monotonic seconds, so a step of the wall clock can't hold or free a key.
"""

from collections.abc import Iterator
from math import inf

from berth_server.queue.backoff import Jitter, backoff
from berth_server.queue.entry import NO_CURES, Entry
from berth_server.queue.events import ClusterEvent, Cure, Cures
from berth_server.queue.key import PendingRow, PendingState, Popped, QueueKey
from berth_server.queue.outcomes import (
    RESERVED_FOR_OTHER,
    Conflict,
    Error,
    Forget,
    Held,
    Outcome,
    ReservedForOther,
    RetryAt,
    Unschedulable,
)
from berth_server.queue.places import Places


class PendingQueue:
    """Written by the placement service alone, on the event loop. Every change of one key costs O(log n), amortised."""

    __slots__ = ("_cures", "_cures_of_reasons", "_jitter", "_places")

    def __init__(self, cures: Cures, jitter: Jitter) -> None:
        """Make an empty one. `cures` has every reason that an `Unschedulable` will name."""
        self._cures = cures
        self._jitter = jitter
        self._places = Places()
        self._cures_of_reasons: dict[frozenset[str], frozenset[Cure]] = {}

    def __len__(self) -> int:
        return len(self._places.entries)

    def __contains__(self, uid: str) -> bool:
        return uid in self._places.entries

    def add(self, key: QueueKey, now: float, *, reset: bool = False) -> None:
        """Put in a key that is active at once. One that is known takes on the new key and is activated."""
        entry = self._places.entries.get(key.uid)
        if entry is None:
            entry = self._places.entries[key.uid] = Entry(key)
            self._places.enter(entry, PendingState.ACTIVE)
            return
        if entry.key != key:
            self._rekey(entry, key)
        self._activate(entry, now, reset=reset)

    def remove(self, uid: str) -> None:
        """Forget a key, in whatever state. Its attempt, if one is in flight, is over."""
        entry = self._places.entries.pop(uid, None)
        if entry is not None:
            self._places.leave(entry)

    def activate(self, uid: str, now: float, *, reset: bool = False) -> bool:
        """Say that the item itself changed; `reset`: its spec did, so what it failed on before counts no more.

        While in flight this takes effect when the attempt is done. Returns False if the key is unknown.
        """
        entry = self._places.entries.get(uid)
        if entry is None:
            return False
        self._activate(entry, now, reset=reset)
        return True

    def happened(self, event: ClusterEvent, now: float) -> int:
        """Activate all that wait for `event`, and return how many; attempts in flight find it when they are done."""
        self._places.log.append(event)
        cured = self._places.waiting.cured_by(event)
        for uid in cured:
            self._activate(self._places.entries[uid], now, reset=False)
        return len(cured)

    def pop(self, now: float, limit: int = 1) -> list[Popped]:
        """Begin attempts of the next keys, at most `limit`.

        While nothing is active the earliest key in backoff goes early, unless it is there for an error.
        """
        self._places.end_timers(now)
        popped: list[Popped] = []
        while len(popped) < limit:
            entry = self._places.take_next()
            if entry is None:
                break
            self._places.enter(entry, PendingState.IN_FLIGHT)
            popped.append(Popped(entry.attempt, entry.key))
        return popped

    def planned(self, attempt: int) -> bool:
        """Say that the attempt looks at the state now: only what happens from here on is news to it.

        Returns False if the attempt is over.
        """
        if attempt not in self._places.in_flight:
            return False
        self._places.log.look(attempt)
        return True

    def done(self, attempt: int, outcome: Outcome, now: float) -> bool:
        """End an attempt, the only place that moves its key. Returns False, with no effect, if it is over already.

        Raises KeyError, with no effect, for a reason that the table of cures lacks.
        """
        entry = self._places.in_flight.get(attempt)
        if entry is None:
            return False
        if isinstance(outcome, Forget):
            self.remove(entry.key.uid)
            return True
        cures = self._cures_of(outcome)
        cured = self._places.log.cured(attempt, entry.key, cures)
        self._places.leave(entry)
        entry.cures = cures
        self._places.enter(entry, self._judge(entry, outcome, now))
        if cured or entry.activated:
            self._activate(entry, now, reset=entry.reset)
        entry.activated = entry.reset = False
        return True

    def state_of(self, uid: str) -> PendingState | None:
        """Where a key is; None if it is unknown."""
        entry = self._places.entries.get(uid)
        return entry.state if entry else None

    def ready(self, now: float) -> bool:
        """Whether `pop` would return something."""
        return self._places.has_next(now)

    def next_due(self) -> float:
        """When the next backoff or retry delay ends, in monotonic seconds; infinity if there is none."""
        return self._places.next_due()

    def counts(self) -> dict[PendingState, int]:
        """Return how many keys are in each state."""
        return self._places.counts()

    @property
    def inflight_events(self) -> int:
        """Events kept for the attempts in flight."""
        return len(self._places.log)

    def unschedulable(self) -> list[str]:
        """Return the UIDs of keys that wait for a cure, in no order."""
        return [uid for uid, entry in self._places.entries.items() if entry.state is PendingState.UNSCHEDULABLE]

    def rows(self) -> Iterator[PendingRow]:
        """Yield every key, next first: active, in flight, in backoff, in retry delay, unschedulable.

        The queue must not change until the last one is taken. Costs O(n log n).
        """
        return self._places.rows()

    def _activate(self, entry: Entry, now: float, *, reset: bool) -> None:
        """Move what waits to where its backoff allows."""
        if entry.state is PendingState.IN_FLIGHT:
            entry.activated = True
            entry.reset |= reset
            return
        if reset:
            entry.attempts = entry.errors = 0
            entry.backoff_until = -inf
        if entry.state is PendingState.ACTIVE:
            return
        stays_away = entry.backoff_until > now and entry.state is not PendingState.RETRY_DELAY
        state = PendingState.BACKOFF if stays_away else PendingState.ACTIVE
        if state is not entry.state:
            self._places.leave(entry)
            self._places.enter(entry, state)

    def _rekey(self, entry: Entry, key: QueueKey) -> None:
        if entry.state is PendingState.IN_FLIGHT:
            entry.key = key
            return
        self._places.leave(entry)
        entry.key = key
        self._places.enter(entry, entry.state)

    def _judge(self, entry: Entry, outcome: Outcome, now: float) -> PendingState:
        """Note on the entry what its attempt came to, and return the state that it goes to."""
        if not isinstance(outcome, Error):
            entry.errors = 0
        match outcome:
            case Unschedulable(reasons=reasons, message=message):
                entry.attempts += 1
                entry.backoff_until = now + backoff(entry.attempts, self._jitter)
                return entry.said(PendingState.UNSCHEDULABLE, reasons, message)
            case Held(reason=reason, message=message):
                return entry.said(PendingState.UNSCHEDULABLE, (reason,), message)
            case ReservedForOther():
                return entry.said(PendingState.UNSCHEDULABLE, (RESERVED_FOR_OTHER,))
            case RetryAt(until=until):
                entry.retry_at = until
                return entry.said(PendingState.RETRY_DELAY)
            case Error(message=message, not_before=not_before):
                entry.errors += 1
                entry.backoff_until = max(now + backoff(entry.errors, self._jitter), not_before)
                return entry.said(PendingState.BACKOFF, (), message)
            case Conflict() | Forget():
                # The verdict that it had before is still the last one.
                return PendingState.ACTIVE

    def _cures_of(self, outcome: Outcome) -> frozenset[Cure]:
        if not isinstance(outcome, Unschedulable):
            return NO_CURES
        reasons = frozenset(outcome.reasons)
        cures = self._cures_of_reasons.get(reasons)
        if cures is None:
            cures = NO_CURES.union(*(self._cures[reason] for reason in reasons))
            self._cures_of_reasons[reasons] = cures
        return cures
