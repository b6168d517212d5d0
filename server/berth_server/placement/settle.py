"""Settles binds whose outcome is unknown: by a write, never by a read.

While the first write is on its way a read shows the item unassigned, at the version that the write carries, and then
the write lands. So a byte of the status is changed at that very version: if that succeeds, no other write at it can
land any more, and the room is given back; if it is a conflict, something landed, and now a read tells what. Until one
of both is known the room stays taken, however long that is.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from berth_server.objects.decode import version_of
from berth_server.objects.resources import Run
from berth_server.placement.core import Core
from berth_server.placement.outgoing import outgoing
from berth_server.placement.ports import ConflictError, KubeError, NotFoundError, ThrottledError
from berth_server.queue.backoff import Jitter, backoff
from berth_server.state.reservations import End, Reservation, State

_BUG_PAUSE_FAILURES: Final = 5
"""What a bug counts as: the longest pause, since nothing says that it will pass."""

Sleep = Callable[[float], Awaitable[None]]


class Settler:
    """One task, `run`, that settles everything handed to `take`. `landed` is told of each bind that turns out well."""

    def __init__(
        self, core: Core, jitter: Jitter, landed: Callable[[Reservation], None], *, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._core = core
        self._jitter = jitter
        self._landed = landed
        self._sleep = sleep
        self._taken: asyncio.Queue[Reservation] = asyncio.Queue()

    def take(self, reservation: Reservation) -> None:
        """The outcome of this reservation's write is unknown."""
        self._taken.put_nowait(reservation)

    async def run(self) -> None:
        """Settle until cancelled; what is not settled then is forgotten with everything else."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                reservation = await self._taken.get()
                tasks.create_task(self._settle(reservation), name=f"settle {reservation.item.uid}")

    async def _settle(self, reservation: Reservation) -> None:
        failures = 0
        while self._open(reservation):
            pause = 0.0
            try:
                await self._try(reservation)
            except KubeError as error:
                failures += 1
                pause = error.retry_after if isinstance(error, ThrottledError) else 0.0
                if failures == 1:
                    self._say(reservation, str(error))
            except Exception as error:
                failures = _BUG_PAUSE_FAILURES
                self._core.log.exception("settling failed by a bug", run_uid=reservation.item.uid, reason=repr(error))
            else:
                return
            await self._sleep(max(backoff(failures, self._jitter), pause))

    async def _try(self, reservation: Reservation) -> None:
        """Settle, or raise the KubeError that leaves it open."""
        core = self._core
        try:
            await core.writer.fence(outgoing(reservation.item), reservation.version)
        except (ConflictError, NotFoundError):
            version = await self._assigned_at(reservation)
        else:
            version = 0
        if not self._open(reservation):
            # The watch was faster.
            return
        if version:
            self._landed(reservation)
            core.reservations.succeeded(reservation, version)
        else:
            core.reservations.drop(reservation, End.FENCED)
        core.ingest.tell()

    async def _assigned_at(self, reservation: Reservation) -> int:
        """Return the version at which the item is seen to have been assigned as it was meant; 0: it was not."""
        try:
            run = await self._core.store.read(outgoing(reservation.item).ref)
        except NotFoundError:
            return 0
        assert isinstance(run, Run)
        there = run.status is not None and run.status.assigned_pod_uid == reservation.candidate.uid
        return version_of(run) if there and run.metadata.uid == reservation.item.uid else 0

    def _open(self, reservation: Reservation) -> bool:
        return self._core.reservations.get(reservation.id) is not None and reservation.state is State.UNCONFIRMED

    def _say(self, reservation: Reservation, why: str) -> None:
        item = reservation.item
        self._core.log.warning("bind not settled yet", run_uid=item.uid, namespace=item.namespace, reason=why)
