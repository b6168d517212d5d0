"""Pop, plan, bind, done: in process or over a channel, the same class.

Planning goes one item after another, so that each decision sees the reservations of those before it, and each bind is
asked for before the next item is planned; the writes overlap. No result is kept here: the server knows what each Plan
and Bind came to. Whatever goes wrong with one item, its attempt is done, and the loop lives.
"""

import asyncio
from itertools import islice
from typing import Final

from berth_server.placement.answers import AlreadyReserved, PoppedItem, Reserved
from berth_server.placement.failures import PlacementError, Reason
from berth_server.placement.ingest import Log
from berth_server.placement.ports import Service
from berth_server.placement.questions import BindQuestion, PlanQuestion

OWNER: Final = "driver"
BATCH: Final = 32
MAX_BINDS: Final = 64
WAIT_SECONDS: Final = 20.0
TURN: Final = 8
"""Items that are planned before other tasks of the loop get their turn."""


class Driver:
    """Drives one queue. Start it once."""

    def __init__(self, service: Service, log: Log, *, owner: str = OWNER) -> None:
        self._service = service
        self._log = log
        self._owner = owner
        self._planning = asyncio.Lock()
        self._placing: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Drive until cancelled; what is being bound then goes on under the server."""
        while True:
            await self.step(wait=WAIT_SECONDS)
            # Binds in flight hold their attempt; more than this would only queue up behind the writer.
            while len(self._placing) >= MAX_BINDS:
                await asyncio.wait(self._placing, return_when=asyncio.FIRST_COMPLETED)

    async def step(self, *, wait: float) -> int:
        """Place what can be taken from the queue now, at most one batch; return how many keys were taken."""
        popped = await self._service.pop(max_items=BATCH, wait=wait)
        items = iter(popped)
        while turn := list(islice(items, TURN)):
            for item in turn:
                task = asyncio.create_task(self._place(item), name=f"drive {item.item.name}")
                self._placing.add(task)
                task.add_done_callback(self._placing.discard)
            await asyncio.sleep(0)
        return len(popped)

    async def settle(self) -> None:
        """Wait until nothing is being bound."""
        while self._placing:
            await asyncio.wait(list(self._placing))

    async def _place(self, popped: PoppedItem) -> None:
        try:
            async with self._planning:
                reservation_id = await self._plan(popped)
            # In process, no other item is planned before this bind has looked and sent: a plan in between could take
            # away what this one rests on (the seed of an affinity, for one), and it would be refused by our own doing.
            if reservation_id is not None:
                await self._bind(popped, reservation_id)
        finally:
            await self._done(popped)

    async def _plan(self, popped: PoppedItem) -> str | None:
        """Return the reservation to bind, if the item got one."""
        question = PlanQuestion(popped.item, self._owner, attempt_id=popped.attempt_id)
        try:
            result = (await self._service.plan(question)).result
        except PlacementError as error:
            self._say(popped, error)
            return None
        except Exception:  # noqa: BLE001 -- a bug: this attempt ends as an error, the others go on
            self._log.exception("plan failed", run_uid=popped.item.uid, namespace=popped.item.namespace)
            return None
        return result.reservation.id if isinstance(result, (Reserved, AlreadyReserved)) else None

    async def _bind(self, popped: PoppedItem, reservation_id: str) -> None:
        try:
            await self._service.bind(BindQuestion(reservation_id, self._owner, popped.attempt_id))
        except PlacementError as error:
            self._say(popped, error)
        except Exception:  # noqa: BLE001 -- see _plan
            self._log.exception("bind failed", run_uid=popped.item.uid, namespace=popped.item.namespace)

    async def _done(self, popped: PoppedItem) -> None:
        try:
            await self._service.done(popped.attempt_id)
        except PlacementError as error:
            self._say(popped, error)

    def _say(self, popped: PoppedItem, error: PlacementError) -> None:
        # A lost race, a member of a group, an item that is gone: the queue has it from the attempt.
        if error.reason not in {Reason.MEMBER_OF_GROUP, Reason.RESERVED_BY_OTHER, Reason.UNKNOWN_ITEM}:
            self._log.warning(
                error.message,
                run_uid=popped.item.uid,
                namespace=popped.item.namespace,
                reason=error.reason.value,
            )
