"""The events that attempts in flight have not seen: an attempt that returns must not wait for what already happened.

Only what is newer than the oldest view of an attempt in flight is kept, equal events once, so the log is bounded by the
number of distinct (kind, namespace, runtime), and empty while nothing is in flight.
"""

from collections import OrderedDict
from typing import TYPE_CHECKING

from berth_server.queue.events import ClusterEvent, Cure, Scope
from berth_server.queue.heap import LazyHeap
from berth_server.queue.key import QueueKey

if TYPE_CHECKING:
    from berth_server.objects.changes import ChangeKind


class InFlightLog:
    """Written by `PendingQueue` alone. A position is the number of events before it."""

    __slots__ = ("_events", "_newest", "_position", "_views")

    def __init__(self) -> None:
        self._position = 0
        self._views: LazyHeap[int, int] = LazyHeap()
        self._events: OrderedDict[ClusterEvent, int] = OrderedDict()
        """By ascending position."""
        self._newest: dict[tuple[ChangeKind, str], int] = {}
        """Of the events of one kind and namespace."""

    def __len__(self) -> int:
        return len(self._events)

    def look(self, attempt: int) -> None:
        """Begin an attempt, or say that it looks again: it sees all that happened until now."""
        self._views.push(attempt, self._position)
        self._trim()

    def end(self, attempt: int) -> None:
        """Forget an attempt."""
        self._views.discard(attempt)
        self._trim()

    def append(self, event: ClusterEvent) -> None:
        """Keep `event` for the attempts in flight, if any."""
        if not self._views:
            return
        self._position += 1
        self._events[event] = self._position
        self._events.move_to_end(event)
        self._newest[event.kind, event.namespace] = self._position

    def cured(self, attempt: int, key: QueueKey, cures: frozenset[Cure]) -> bool:
        """Whether one of `cures` happened to `key` after the attempt looked."""
        view = self._views[attempt]
        if view == self._position:
            return False
        return any(self._last(cure, key) > view for cure in cures)

    def _last(self, cure: Cure, key: QueueKey) -> int:
        if cure.scope is Scope.NAMESPACE:
            return self._newest.get((cure.kind, key.namespace), 0)
        places = key.runtime, ""
        return max(self._events.get(ClusterEvent(cure.kind, key.namespace, place), 0) for place in places)

    def _trim(self) -> None:
        head = self._views.head()
        oldest = self._position if head is None else head[0]
        while self._events:
            event, position = next(iter(self._events.items()))
            if position > oldest:
                return
            del self._events[event]
            if self._newest[event.kind, event.namespace] == position:
                del self._newest[event.kind, event.namespace]
