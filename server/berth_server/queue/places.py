"""Where every key is: one container a state, each ordered by what ends that state. It moves keys, and has no rules."""

from collections.abc import Iterator
from itertools import count
from math import inf

from berth_server.queue.active import ActiveQueue
from berth_server.queue.entry import Entry
from berth_server.queue.heap import LazyHeap
from berth_server.queue.inflight import InFlightLog
from berth_server.queue.key import PendingRow, PendingState
from berth_server.queue.waiting import WaitingRoom

_Timers = LazyHeap[str, tuple[float, int, int, str]]
"""By time, then in queue order."""
_ROWS_AFTER_ACTIVE = (
    PendingState.IN_FLIGHT,
    PendingState.BACKOFF,
    PendingState.RETRY_DELAY,
    PendingState.UNSCHEDULABLE,
)


class Places:
    """Written by `PendingQueue` alone. Every entry is in exactly one container, by its state.

    What its place depends on (key, cures, times) changes only while it is out or in flight, or just before it leaves.
    """

    __slots__ = (
        "_active",
        "_attempt_ids",
        "_backoff",
        "_error_backoff",
        "_retry_delay",
        "entries",
        "in_flight",
        "log",
        "waiting",
    )

    def __init__(self) -> None:
        self._attempt_ids = count(1)
        self.entries: dict[str, Entry] = {}
        self._backoff: _Timers = LazyHeap()
        self._error_backoff: _Timers = LazyHeap()
        self._retry_delay: _Timers = LazyHeap()
        self._active = ActiveQueue()
        self.waiting = WaitingRoom()
        self.in_flight: dict[int, Entry] = {}
        self.log = InFlightLog()

    def enter(self, entry: Entry, state: PendingState) -> None:
        """Put in an entry that is in none."""
        entry.state = state
        key = entry.key
        match state:
            case PendingState.ACTIVE:
                self._active.push(key)
            case PendingState.BACKOFF:
                (self._error_backoff if entry.errors else self._backoff).push(key.uid, entry.order)
            case PendingState.RETRY_DELAY:
                self._retry_delay.push(key.uid, entry.order)
            case PendingState.UNSCHEDULABLE:
                self.waiting.add(key, entry.cures)
            case PendingState.IN_FLIGHT:
                entry.attempt = next(self._attempt_ids)
                self.in_flight[entry.attempt] = entry
                self.log.look(entry.attempt)

    def leave(self, entry: Entry) -> None:
        """Take an entry out. Its state still says where it was."""
        uid = entry.key.uid
        match entry.state:
            case PendingState.ACTIVE:
                self._active.discard(entry.key)
            case PendingState.BACKOFF:
                self._backoff.discard(uid)
                self._error_backoff.discard(uid)
            case PendingState.RETRY_DELAY:
                self._retry_delay.discard(uid)
            case PendingState.UNSCHEDULABLE:
                self.waiting.discard(uid)
            case PendingState.IN_FLIGHT:
                del self.in_flight[entry.attempt]
                self.log.end(entry.attempt)

    def take_next(self) -> Entry | None:
        """Take out whose turn it is; while nothing is active, the earliest that backs off, but not from an error."""
        uid = self._active.pop() if self._active else self._backoff.pop()
        return None if uid is None else self.entries[uid]

    def end_timers(self, now: float) -> None:
        """Move to active what has waited long enough."""
        for timers in (self._backoff, self._error_backoff, self._retry_delay):
            while _due(timers) <= now:
                uid = timers.pop()
                assert uid is not None
                self.enter(self.entries[uid], PendingState.ACTIVE)

    def has_next(self, now: float) -> bool:
        """Whether `take_next` would find something once the timers due at `now` have ended."""
        if self._active or self._backoff:
            return True
        return min(_due(self._error_backoff), _due(self._retry_delay)) <= now

    def next_due(self) -> float:
        """When the next timer ends; infinity if there is none."""
        return min(_due(self._backoff), _due(self._error_backoff), _due(self._retry_delay))

    def rows(self) -> Iterator[PendingRow]:
        """Yield every entry for people, next first. Costs O(n log n)."""
        for position, uid in enumerate(self._active.in_order(), 1):
            yield self.entries[uid].row(position)
        groups: dict[PendingState, list[Entry]] = {state: [] for state in _ROWS_AFTER_ACTIVE}
        for entry in self.entries.values():
            if entry.state is not PendingState.ACTIVE:
                groups[entry.state].append(entry)
        for group in groups.values():
            group.sort(key=lambda entry: entry.order)
            yield from (entry.row(position) for position, entry in enumerate(group, 1))

    def counts(self) -> dict[PendingState, int]:
        """Return how many entries are in each state."""
        return {
            PendingState.ACTIVE: len(self._active),
            PendingState.BACKOFF: len(self._backoff) + len(self._error_backoff),
            PendingState.UNSCHEDULABLE: len(self.waiting),
            PendingState.IN_FLIGHT: len(self.in_flight),
            PendingState.RETRY_DELAY: len(self._retry_delay),
        }


def _due(timers: _Timers) -> float:
    head = timers.head()
    return inf if head is None else head[0][0]
