"""Decides what the status of a waiting item says, and when that is worth a write. The writer sends it.

An API server takes a few hundred status writes a second, so a message is written only when the set or order of its
reasons has changed (counts alone do not), and at most once a minute an item; what comes sooner waits for that minute.
"""

import asyncio
import heapq
import re
from typing import Final

from berth_server.objects.item import Item, Stage
from berth_server.placement.core import Core
from berth_server.placement.outgoing import outgoing
from berth_server.placement.ports import KubeError

NOTE_PAUSE_SECONDS: Final = 60.0
_COUNTS: Final = re.compile(r"[0-9]+")


class Reporter:
    """Writes messages of items that wait. Belongs to one event loop."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._wanted: dict[str, str] = {}
        self._noted_at: dict[str, float] = {}
        self._due: list[tuple[float, str]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def waits(self, item: Item, message: str) -> None:
        """The item waits, and this is why."""
        self._core.recorder.record(outgoing(item).ref, "FailedScheduling", message)
        if same_reasons(item.message, message) or item.stage is not Stage.PENDING:
            self._wanted.pop(item.uid, None)
            return
        known = item.uid in self._wanted
        self._wanted[item.uid] = message
        if not known:
            now = self._core.clock.monotonic()
            at = max(now, self._noted_at.get(item.uid, now - NOTE_PAUSE_SECONDS) + NOTE_PAUSE_SECONDS)
            heapq.heappush(self._due, (at, item.uid))

    def forget(self, uid: str) -> None:
        """The item waits no more."""
        self._wanted.pop(uid, None)
        self._noted_at.pop(uid, None)

    def next_due(self) -> float:
        """Monotonic time at which `tick` has something to write; infinity: never."""
        return self._due[0][0] if self._due else float("inf")

    def tick(self) -> None:
        """Write what is due."""
        now = self._core.clock.monotonic()
        while self._due and self._due[0][0] <= now:
            _, uid = heapq.heappop(self._due)
            message, item = self._wanted.pop(uid, None), self._core.state.items.get(uid)
            if message is None or item is None or item.stage is not Stage.PENDING:
                continue
            if self._core.reservations.of_item(uid) is not None or same_reasons(item.message, message):
                continue
            self._noted_at[uid] = now
            task = asyncio.create_task(self._note(item, message), name=f"note {uid}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def drain(self) -> None:
        """Wait until no message is on its way."""
        while self._tasks:
            await asyncio.wait(list(self._tasks))

    async def _note(self, item: Item, message: str) -> None:
        try:
            await self._core.writer.note(outgoing(item), message)
        except KubeError as error:
            # The next verdict brings it up again; a message is worth no retry of its own.
            self._core.log.warning("message not written", run_uid=item.uid, reason=str(error))


def same_reasons(written: str, message: str) -> bool:
    """Whether two texts differ in counts alone."""
    return _COUNTS.sub("#", written) == _COUNTS.sub("#", message)
