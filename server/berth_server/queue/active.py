"""The keys that can be tried now. The highest priority goes first, and pools of one priority take turns.

Without turns a namespace with 100,000 items would own the queue. A round gives one turn to every pool that has keys
when it begins, the pool with the oldest head first; a pool that comes later, or comes back, waits for the next round.
"""

from collections import deque
from collections.abc import Iterator

from berth_server.queue.heap import LazyHeap
from berth_server.queue.key import QueueKey

_Pool = tuple[str, str]
"""Namespace and runtime."""


class _Level:
    """The pools of one priority, none of them empty, and the rest of the round."""

    __slots__ = ("pools", "turns")

    def __init__(self) -> None:
        self.pools: dict[_Pool, LazyHeap[str, int]] = {}
        self.turns: deque[_Pool] = deque()

    def push(self, key: QueueKey) -> None:
        self.pools.setdefault((key.namespace, key.runtime), LazyHeap()).push(key.uid, key.arrival)

    def discard(self, key: QueueKey) -> None:
        pool = key.namespace, key.runtime
        heap = self.pools[pool]
        heap.discard(key.uid)
        if not heap:
            del self.pools[pool]

    def pop(self) -> str:
        """Take the next key of a level that has one."""
        while True:
            if not self.turns:
                self.turns.extend(sorted(self.pools, key=self._seniority))
            pool = self.turns.popleft()
            heap = self.pools.get(pool)
            if heap is not None:
                break
        uid = heap.pop()
        assert uid is not None
        if not heap:
            del self.pools[pool]
        return uid

    def copy(self) -> "_Level":
        twin = _Level()
        twin.pools = {pool: heap.copy() for pool, heap in self.pools.items()}
        twin.turns = self.turns.copy()
        return twin

    def _seniority(self, pool: _Pool) -> tuple[int, _Pool]:
        head = self.pools[pool].head()
        assert head is not None
        return head[0], pool


class ActiveQueue:
    """Written by `PendingQueue` alone. A key is in it at most once."""

    __slots__ = ("_levels", "_priorities", "_size")

    def __init__(self) -> None:
        self._levels: dict[int, _Level] = {}
        self._priorities: LazyHeap[int, int] = LazyHeap()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def push(self, key: QueueKey) -> None:
        """Put in a key that is not in."""
        level = self._levels.get(key.priority)
        if level is None:
            level = self._levels[key.priority] = _Level()
            self._priorities.push(key.priority, -key.priority)
        level.push(key)
        self._size += 1

    def discard(self, key: QueueKey) -> None:
        """Take out a key that is in, as it was put in."""
        level = self._levels[key.priority]
        level.discard(key)
        self._left(key.priority, level)

    def pop(self) -> str | None:
        """Take out the key whose turn it is and return its UID; None if empty."""
        head = self._priorities.head()
        if head is None:
            return None
        _, priority = head
        level = self._levels[priority]
        uid = level.pop()
        self._left(priority, level)
        return uid

    def in_order(self) -> Iterator[str]:
        """Yield the UIDs in the order in which `pop` would, if nothing else happened."""
        for priority in sorted(self._levels, reverse=True):
            rest = self._levels[priority].copy()
            while rest.pools:
                yield rest.pop()

    def _left(self, priority: int, level: _Level) -> None:
        self._size -= 1
        if not level.pools:
            del self._levels[priority]
            self._priorities.discard(priority)
