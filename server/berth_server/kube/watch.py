"""One watch: a place in the history of a kind, and the events from there on, decoded as they are taken."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final, Self

from berth_server.kube.history import Change, History
from berth_server.objects.decode import DecodeError, decode
from berth_server.placement.ports import GoneError, WatchEvent

_TURN: Final = 64
"""Events in a row after which a backlog lets the other tasks of the loop run."""


class Watch(AsyncIterator[WatchEvent]):
    """The events of one kind after a version, in order, until it is closed or the task that iterates is cancelled.

    Raises GoneError, and then ends, if changes after that version were dropped before they were taken. For one
    consumer; `aclose` may be called by any task and ends a wait.
    """

    def __init__(self, kind: str, history: History, since: int, *, newest: int) -> None:
        self._kind = kind
        self._history = history
        self._since = since
        self._newest = newest
        self._place: int | None = None
        self._closed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchEvent:
        if self._place is not None and self._place % _TURN == 0:
            await asyncio.sleep(0)
        while not self._closed:
            change = self._take()
            if change is not None:
                return _event(self._kind, change)
            await self._history.changed()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """End the iteration, also one that waits."""
        self._closed = True
        self._history.wake()

    def _take(self) -> Change | None:
        """The next change, None if there is none yet. No await comes after it, so a cancelled wait loses nothing."""
        try:
            place = self._start() if self._place is None else self._place
            change = self._history.at(place)
        except GoneError:
            self._closed = True
            raise
        self._place = place + (change is not None)
        return change

    def _start(self) -> int:
        if self._since > self._newest:
            raise GoneError(f"version {self._since} is newer than all that this store has given")
        return self._history.place_after(self._since)


def _event(kind: str, change: Change) -> WatchEvent:
    try:
        return WatchEvent(change.type, kind, change.version, decode(kind, change.json))
    except DecodeError as error:
        return WatchEvent(change.type, kind, change.version, undecodable=error.undecodable)
