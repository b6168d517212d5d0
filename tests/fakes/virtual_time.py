"""A clock whose sleepers wake when a test moves it, in the order of their times."""

import asyncio
import heapq
import itertools

from tests.fakes.clock import FakeClock

_TURNS = 64
"""Turns of the loop in which what was woken comes to rest: more than any chain of awaits in a test is long."""


class VirtualTime(FakeClock):
    """FakeClock with `sleep`, and `run_for` in place of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock was moved that far."""
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.monotonic() + seconds, next(self._order), future))
        await future

    async def run_for(self, seconds: float) -> None:
        """Move the clock, waking each sleeper at its time and letting it work until it rests."""
        await self.settle()
        end = self.monotonic() + seconds
        while self._sleepers and self._sleepers[0][0] <= end:
            due, _, future = heapq.heappop(self._sleepers)
            self.advance(max(due - self.monotonic(), 0.0))
            if not future.done():
                future.set_result(None)
                await self.settle()
        self.advance(max(end - self.monotonic(), 0.0))

    async def settle(self) -> None:
        """Let every task run until it waits for something else than a turn of the loop."""
        for _ in range(_TURNS):
            await asyncio.sleep(0)
