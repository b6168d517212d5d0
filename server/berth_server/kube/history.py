"""The recent changes of one kind, and those who follow them.

Followers share one bounded sequence and each keeps a place in it: an event is stored once however many follow, and one
who falls behind the bound is told to list again instead of holding memory or missing an event. Nothing here decodes.
"""

import asyncio
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from berth_server.placement.ports import EventType, GoneError

_version_of: Final = attrgetter("version")


@dataclass(frozen=True, slots=True)
class Change:
    """One change at one version: the object as JSON after it, or as it was last if it was deleted."""

    type: EventType
    version: int
    json: bytes


class History:
    """Changes of one kind in the order of their versions, the oldest dropped beyond `limit`. Written by the store."""

    def __init__(self, limit: int) -> None:
        self._changes: deque[Change] = deque(maxlen=limit)
        self._appended = 0
        self._floor = 0
        self._waiting: set[asyncio.Future[None]] = set()

    def append(self, change: Change) -> None:
        """Record a change, newer than all before, and wake everybody who waits for one."""
        if len(self._changes) == self._changes.maxlen:
            self._floor = self._changes[0].version
        self._changes.append(change)
        self._appended += 1
        self.wake()

    def wake(self) -> None:
        """Let all who wait look again."""
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        self._waiting.clear()

    def place_after(self, version: int) -> int:
        """Return the place of the first change after `version`. Raises GoneError if a change after it was dropped."""
        if version < self._floor:
            raise GoneError(f"version {version} is too old: changes are kept from {self._floor} on")
        return self._appended - len(self._changes) + bisect_right(self._changes, version, key=_version_of)

    def at(self, place: int) -> Change | None:
        """Return the change at a place, None if it has not happened yet. Raises GoneError if it was dropped."""
        if place == self._appended:
            return None
        behind = self._appended - place
        if behind > len(self._changes):
            raise GoneError(f"fell {behind} changes behind, and {len(self._changes)} are kept")
        return self._changes[-behind]

    async def changed(self) -> None:
        """Wait until something is appended, or `wake` is called."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.add(waiter)
        try:
            await waiter
        finally:
            self._waiting.discard(waiter)
