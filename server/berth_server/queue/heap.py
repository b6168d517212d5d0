"""A min-heap from which any key can be taken out: what is taken out stays in the heap as garbage for a while.

The garbage is bounded: the heap is rebuilt when it outweighs what is alive, so that keys which come and go forever
(an item activated again and again) cost no memory.
"""

from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from typing import Any, Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
RankT = TypeVar("RankT", bound=Any)
_SLACK = 64


class LazyHeap(Generic[KeyT, RankT]):
    """Keys by ascending order, equal ones by key. A key is in it once; every change costs O(log n), amortised."""

    __slots__ = ("_heap", "_orders")

    def __init__(self) -> None:
        self._heap: list[tuple[RankT, KeyT]] = []
        self._orders: dict[KeyT, RankT] = {}

    def __len__(self) -> int:
        return len(self._orders)

    def __getitem__(self, key: KeyT) -> RankT:
        return self._orders[key]

    def push(self, key: KeyT, order: RankT) -> None:
        """Put `key` in, or move it to `order`."""
        self._orders[key] = order
        heappush(self._heap, (order, key))
        self._compact()

    def discard(self, key: KeyT) -> None:
        """Take `key` out if it is in."""
        if self._orders.pop(key, None) is not None:
            self._compact()

    def head(self) -> tuple[RankT, KeyT] | None:
        """Return the first key with its order; None if empty."""
        heap, orders = self._heap, self._orders
        while heap:
            order, key = first = heap[0]
            # A key that left and came back with the same order is in the heap twice; either stands for it.
            if orders.get(key) == order:
                return first
            heappop(heap)
        return None

    def pop(self) -> KeyT | None:
        """Take the first key out and return it; None if empty."""
        first = self.head()
        if first is None:
            return None
        heappop(self._heap)
        del self._orders[first[1]]
        return first[1]

    def copy(self) -> "LazyHeap[KeyT, RankT]":
        """Return one that can be emptied without touching this."""
        twin = LazyHeap[KeyT, RankT]()
        twin._orders = self._orders.copy()
        twin._rebuild()
        return twin

    def _compact(self) -> None:
        if len(self._heap) > 2 * len(self._orders) + _SLACK:
            self._rebuild()

    def _rebuild(self) -> None:
        self._heap = [(order, key) for key, order in self._orders.items()]
        heapify(self._heap)
