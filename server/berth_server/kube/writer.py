"""The only code that sends a write to Kubernetes: conditional status patches, one at a time for each item.

An item's writes queue behind each other, so that the next one carries the version that the last one returned, which the
watch may not have shown yet. A message that waits gives way to any other write. Nothing is decided here.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from berth_server.kube.conditions import OwnCondition, with_own
from berth_server.objects.decode import version_of
from berth_server.objects.resources import Resource, Run
from berth_server.objects.timestamps import format_time
from berth_server.placement.ports import KubeError, OutcomeUnknownError, Outgoing, Store

MAX_MESSAGE_BYTES = 1024


@dataclass(slots=True)
class _Slot:
    """One item's place in line. `version` and `conditions`: of the last write, for as long as the view lags behind it.

    `seen`: how far the view is. `users`: writes that are under way or wait.
    """

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    version: int = 0
    conditions: bytes = b""
    seen: int = 0
    users: int = 0
    superseded: int = 0
    """Rises with every write that is no message: a message that waited since before gives way."""


class StatusWriter:
    """Implements `placement.ports.Writer` over any store."""

    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now
        self._slots: dict[str, _Slot] = {}

    async def assign(self, item: Outgoing, candidate_name: str, candidate_uid: str) -> int:
        """See Writer."""
        slot = self._supersede(item)
        status = {"phase": "Scheduled", "assignedPod": candidate_name, "assignedPodUID": candidate_uid, "message": ""}
        scheduled = OwnCondition("Scheduled", "True", "Assigned", f"assigned to {candidate_name}")
        async with self._turn(item, slot):
            return await self._patch(item, slot, status, [scheduled])

    async def finish(self, item: Outgoing, phase: str, reason: str, message: str) -> int:
        """See Writer."""
        slot = self._supersede(item)
        status = {"phase": phase, "message": _cut(message), "completionTime": format_time(self._now())}
        over = [OwnCondition(kind, "False", reason, _cut(message)) for kind in ("Running", "Completed")]
        async with self._turn(item, slot):
            return await self._patch(item, slot, status, over)

    async def fence(self, item: Outgoing, sent: int) -> int:
        """See Writer."""
        slot = self._supersede(item)
        # It names the version, so it differs from what is stored, also if that is the text of an earlier fence: a
        # patch that changes nothing succeeds and keeps no other write out.
        message = f"the outcome of an assignment at version {sent} was unknown: it is decided again"
        async with self._turn(item, slot):
            version = self._written(slot, await self._store.patch_status(item.ref, {"message": message}, version=sent))
        if version <= sent:
            raise OutcomeUnknownError("the fence changed nothing", version=sent)
        return version

    async def note(self, item: Outgoing, message: str) -> int | None:
        """See Writer."""
        slot = self._slot(item)
        before = slot.superseded
        async with self._turn(item, slot):
            if slot.superseded != before:
                return None
            return await self._patch(item, slot, {"phase": "Pending", "message": _cut(message)}, ())

    def seen(self, uid: str, version: int) -> None:
        """See Writer."""
        slot = self._slots.get(uid)
        if slot is not None:
            slot.seen = max(slot.seen, version)
            self._let_go(uid, slot)

    def _slot(self, item: Outgoing) -> _Slot:
        return self._slots.setdefault(item.ref.uid, _Slot())

    def _supersede(self, item: Outgoing) -> _Slot:
        slot = self._slot(item)
        slot.superseded += 1
        return slot

    @asynccontextmanager
    async def _turn(self, item: Outgoing, slot: _Slot) -> AsyncIterator[None]:
        """Wait for the writes before, and keep the slot for as long as anybody writes through it."""
        slot.users += 1
        try:
            async with slot.lock:
                yield
        finally:
            slot.users -= 1
            self._let_go(item.ref.uid, slot)

    def _let_go(self, uid: str, slot: _Slot) -> None:
        # The view may have shown the last write before its answer came, and a deleted item is never seen again.
        if not slot.users and slot.seen >= slot.version:
            self._slots.pop(uid, None)

    async def _patch(self, item: Outgoing, slot: _Slot, status: Mapping[str, Any], own: Iterable[OwnCondition]) -> int:
        ahead = slot.version > item.version
        conditions = slot.conditions if ahead else item.conditions
        changed: dict[str, Any] = dict(status)
        own = list(own)
        if own:
            changed["conditions"] = with_own(conditions, own, self._now())
        version = slot.version if ahead else item.version
        try:
            written = await self._store.patch_status(item.ref, changed, version=version)
        except OutcomeUnknownError as error:
            error.version = version
            raise
        except KubeError:
            raise
        except Exception as error:  # a bug on the way: nobody knows what was sent
            raise OutcomeUnknownError(repr(error), version=version) from error
        return self._written(slot, written)

    def _written(self, slot: _Slot, written: Resource) -> int:
        slot.version = version_of(written)
        if isinstance(written, Run) and written.status is not None:
            slot.conditions = bytes(written.status.conditions or b"")
        return slot.version


def _cut(message: str) -> str:
    data = message.encode()
    return message if len(data) <= MAX_MESSAGE_BYTES else data[:MAX_MESSAGE_BYTES].decode(errors="ignore")
