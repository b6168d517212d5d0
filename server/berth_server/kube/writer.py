"""The only code that sends a write to Kubernetes: conditional status patches, one at a time for each item.

An item's writes queue behind each other, so that the next one carries the version that the last one returned, which the
watch may not have shown yet. A message that waits gives way to any other write. Nothing is decided here.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from berth_server.kube.conditions import OwnCondition, with_own
from berth_server.objects.decode import version_of
from berth_server.objects.resources import Resource, Run
from berth_server.objects.timestamps import format_time
from berth_server.placement.ports import OutcomeUnknownError, Outgoing, Store

MAX_MESSAGE_BYTES = 1024


@dataclass(slots=True)
class _Slot:
    """One item's place in line. `version` and `conditions`: of the last write, while the view lags behind it."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    version: int = 0
    conditions: bytes = b""
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
        async with slot.lock:
            return await self._patch(item, slot, status, [scheduled])

    async def finish(self, item: Outgoing, phase: str, reason: str, message: str) -> int:
        """See Writer."""
        slot = self._supersede(item)
        status = {"phase": phase, "message": _cut(message), "completionTime": format_time(self._now())}
        over = [OwnCondition(kind, "False", reason, _cut(message)) for kind in ("Running", "Completed")]
        async with slot.lock:
            return await self._patch(item, slot, status, over)

    async def fence(self, item: Outgoing, sent: int) -> int:
        """See Writer."""
        slot = self._supersede(item)
        # It names the version, so it differs from what is stored, also if that is the text of an earlier fence: a
        # patch that changes nothing succeeds and keeps no other write out.
        message = f"the outcome of an assignment at version {sent} was unknown: it is decided again"
        async with slot.lock:
            written = await self._store.patch_status(item.ref, {"message": message}, version=sent)
            version = self._written(slot, written)
        if version <= sent:
            raise OutcomeUnknownError("the fence changed nothing", sent=sent)
        return version

    async def note(self, item: Outgoing, message: str) -> int | None:
        """See Writer."""
        slot = self._slot(item)
        before = slot.superseded
        async with slot.lock:
            if slot.superseded != before:
                return None
            return await self._patch(item, slot, {"phase": "Pending", "message": _cut(message)}, ())

    def seen(self, uid: str, version: int) -> None:
        """See Writer."""
        slot = self._slots.get(uid)
        if slot is not None and version >= slot.version and not slot.lock.locked():
            del self._slots[uid]

    def _slot(self, item: Outgoing) -> _Slot:
        return self._slots.setdefault(item.ref.uid, _Slot())

    def _supersede(self, item: Outgoing) -> _Slot:
        slot = self._slot(item)
        slot.superseded += 1
        return slot

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
            # Not the version that the caller knows, perhaps: what settles it must know which one is out.
            raise OutcomeUnknownError(str(error), sent=version) from None
        return self._written(slot, written)

    def _written(self, slot: _Slot, written: Resource) -> int:
        slot.version = version_of(written)
        if isinstance(written, Run) and written.status is not None:
            slot.conditions = bytes(written.status.conditions or b"")
        return slot.version


def _cut(message: str) -> str:
    data = message.encode()
    return message if len(data) <= MAX_MESSAGE_BYTES else data[:MAX_MESSAGE_BYTES].decode(errors="ignore")
