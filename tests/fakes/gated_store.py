"""A store whose writes a test lets through by hand: held, landed, answered, refused, or lost and landing late.

What happens to a write is split in two, because a network splits it: it *lands* (the API has it), and its *answer*
comes back. Between the two the watch may show it, and either may fail to happen.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from berth_server.kube.embedded import EmbeddedStore
from berth_server.objects.resources import Resource, Run
from berth_server.placement.ports import KubeError, Listing, ObjectRef, OutcomeUnknownError, WatchEvent


@dataclass(eq=False)
class HeldWrite:
    """One status patch on its way. `landed`: what the API said to it, None until it got there."""

    ref: ObjectRef
    status: Mapping[str, Any]
    version: int
    answer: asyncio.Future[Resource] = field(repr=False)
    landed: Resource | KubeError | None = None


class GatedStore:
    """Implements `placement.ports.Store` over an API, with the failures that the test puts there.

    `failures` are raised by the next writes, which do not land, `read_failures` by the next reads.
    `assigned` counts the assignments that landed by (Run UID, attempt); `written` counts all writes that landed. While
    `held` is true a write waits in `writes` for the test.
    """

    def __init__(self, api: EmbeddedStore, *, held: bool = False) -> None:
        self.api = api
        self.held = held
        self.seconds_old = 0.0
        self.writes: list[HeldWrite] = []
        self.late: list[HeldWrite] = []
        self.failures: list[Exception] = []
        self.read_failures: list[KubeError] = []
        self.assigned: Counter[tuple[str, int]] = Counter()
        self.written = 0

    # --- placement.ports.Store ---------------------------------------------------------------------------------

    def list(self, kind: str) -> AsyncIterator[Listing]:
        """See Store."""
        return self.api.list(kind)

    def watch(self, kind: str, since: int) -> AsyncIterator[WatchEvent]:
        """See Store."""
        return self.api.watch(kind, since)

    def age(self, kind: str) -> float:
        """See Store; as old as the test says."""
        return self.seconds_old

    async def read(self, ref: ObjectRef) -> Resource:
        """See Store."""
        if self.read_failures:
            raise self.read_failures.pop(0)
        return await self.api.read(ref)

    async def patch_status(self, ref: ObjectRef, status: Mapping[str, Any], *, version: int) -> Resource:
        """See Store."""
        if self.failures:
            raise self.failures.pop(0)
        if not self.held:
            return await self._patch(ref, status, version)
        write = HeldWrite(ref, dict(status), version, asyncio.get_running_loop().create_future())
        self.writes.append(write)
        return await write.answer

    # --- what the test decides ---------------------------------------------------------------------------------

    async def land(self, write: HeldWrite) -> None:
        """Let a write reach the API; nobody is told yet."""
        try:
            write.landed = await self._patch(write.ref, write.status, write.version)
        except KubeError as error:
            write.landed = error
        if write in self.late:
            self.late.remove(write)

    async def answer(self, write: HeldWrite) -> None:
        """Let the answer come back, and the write land before if it has not."""
        if write.landed is None:
            await self.land(write)
        self.writes.remove(write)
        if isinstance(write.landed, KubeError):
            write.answer.set_exception(write.landed)
        elif write.landed is not None:
            write.answer.set_result(write.landed)

    def refuse(self, write: HeldWrite, error: Exception) -> None:
        """Answer a write that did not land."""
        assert write.landed is None
        self.writes.remove(write)
        write.answer.set_exception(error)

    def lose(self, write: HeldWrite) -> None:
        """Let the caller run out of time. A write that had not landed may do so later, from `late`."""
        self.writes.remove(write)
        if write.landed is None:
            self.late.append(write)
        write.answer.set_exception(OutcomeUnknownError("the request timed out"))

    async def _patch(self, ref: ObjectRef, status: Mapping[str, Any], version: int) -> Resource:
        resource = await self.api.patch_status(ref, status, version=version)
        self.written += 1
        if isinstance(resource, Run) and status.get("phase") == "Scheduled":
            attempt = resource.status.attempt if resource.status is not None else None
            self.assigned[resource.metadata.uid, attempt or 1] += 1
        return resource
