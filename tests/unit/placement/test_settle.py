"""Settling a bind of unknown outcome: by a write that keeps the first one out, or by what turns out to be there."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from berth_server.placement.failures import PlacementError
from berth_server.placement.ports import KubeError, NotFoundError, OutcomeUnknownError, RefusedError, ThrottledError
from berth_server.state.reservations import State
from tests.builders import pod, run
from tests.harness import Harness
from tests.invariants import check_one, check_same

UNREACHABLE = RefusedError("no connection", code=0, reason="Unreachable")


class Sleeper:
    """Sleeps that end when the test says so."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self._sleeping: list[asyncio.Future[None]] = []

    async def sleep(self, seconds: float) -> None:
        """Note how long is asked for, and wait for `wake`."""
        self.asked.append(seconds)
        self._sleeping.append(asyncio.get_running_loop().create_future())
        await self._sleeping[-1]

    def wake(self) -> None:
        """End all sleeps."""
        for sleeping in self._sleeping:
            sleeping.set_result(None)
        self._sleeping.clear()


@asynccontextmanager
async def lost_bind(*, landed: bool) -> AsyncIterator[tuple[Harness, Sleeper]]:
    """A bind of Run a to the one slot on p1 timed out; the settler is about to look at it."""
    harness, sleeper = await Harness(run("a"), run("b"), pod("p1", capacity={"runs": 1}), held=True).start(), Sleeper()
    harness.service.settler._sleep = sleeper.sleep
    reservation = await harness.reserve("a")
    task = asyncio.create_task(harness.bind(reservation.id))
    await harness.rest()
    (write,) = harness.store.writes
    if landed:
        await harness.store.land(write)
    harness.store.lose(write)
    with pytest.raises(PlacementError):
        await task
    harness.store.held = False
    settling = asyncio.create_task(harness.service.settler.run())
    try:
        yield harness, sleeper
    finally:
        settling.cancel()
        await asyncio.gather(settling, return_exceptions=True)


def scheduled(harness: Harness) -> float:
    """Return what is counted as scheduled."""
    return harness.metric("kruntimes_scheduler_sync_total", result="scheduled")


async def test_a_write_that_did_not_land_never_does() -> None:
    """The fence takes the version; the late write gets a conflict; the room is given back and the Run placed anew."""
    async with lost_bind(landed=False) as (harness, _):
        (late,) = harness.store.late
        await harness.rest()
        assert not harness.reservations
        await harness.store.land(late)
        assert isinstance(late.landed, KubeError)
        assert scheduled(harness) == 0
        await harness.bind((await harness.reserve("a")).id)
        harness.pump()
        assert harness.placements() == {"ns/a": "ns/p1"}
        assert scheduled(harness) == 1
        check_one(harness)
        check_same(harness)


async def test_a_write_that_landed_is_found() -> None:
    """The fence conflicts, a read shows the assignment: the room stays taken until the view has it, counted once."""
    async with lost_bind(landed=True) as (harness, _):
        await harness.rest()
        assert [each.state for each in harness.reservations] == [State.BOUND]
        assert scheduled(harness) == 1
        harness.pump()
        assert harness.placements() == {"ns/a": "ns/p1"}
        assert scheduled(harness) == 1
        assert not harness.reservations
        check_one(harness)
        check_same(harness)


async def test_what_the_watch_shows_first_counts_once() -> None:
    """The echo hands the reservation over before the settler gets to it: then there is nothing to settle or count."""
    async with lost_bind(landed=True) as (harness, _):
        harness.pump()
        await harness.rest()
        assert not harness.reservations
        assert scheduled(harness) == 1
        assert harness.store.written == 1


async def _delete(harness: Harness) -> None:
    await harness.delete("Run", "a")


async def _recreate(harness: Harness) -> None:
    await harness.delete("Run", "a")
    harness.put(run("a", uid="another"))


async def _elsewhere(harness: Harness) -> None:
    await harness.set_status("Run", "a", phase="Scheduled", assignedPod="p9", assignedPodUID="ns/p9")


@pytest.mark.parametrize(
    "meanwhile",
    [
        pytest.param(_delete, id="deleted"),
        pytest.param(_recreate, id="recreated"),
        pytest.param(_elsewhere, id="assigned elsewhere"),
    ],
)
async def test_a_version_that_is_gone_settles(meanwhile: Callable[[Harness], Awaitable[None]]) -> None:
    """Whoever changed the Run kept the late write out: the room is given back, and nothing is counted."""
    async with lost_bind(landed=False) as (harness, _):
        await meanwhile(harness)
        await harness.rest()
        assert not harness.reservations
        assert scheduled(harness) == 0


@pytest.mark.parametrize(
    ("failure", "want_pause"),
    [
        pytest.param(OutcomeUnknownError("timed out"), 1.0, id="unknown"),
        pytest.param(UNREACHABLE, 1.0, id="unreachable"),
        pytest.param(RefusedError("forbidden", code=403, reason="Forbidden"), 1.0, id="forbidden"),
        pytest.param(ThrottledError("later", retry_after=7.0), 7.0, id="throttled"),
        pytest.param(ValueError("bug"), 10.0, id="bug"),
    ],
)
async def test_the_room_stays_taken_until_it_is_settled(failure: Exception, want_pause: float) -> None:
    """A fence that fails settles nothing; it is tried again after a pause."""
    async with lost_bind(landed=False) as (harness, sleeper):
        harness.store.failures = [failure]
        await harness.rest()
        assert [each.state for each in harness.reservations] == [State.UNCONFIRMED]
        assert sleeper.asked == [want_pause]
        sleeper.wake()
        await harness.rest()
        assert not harness.reservations


async def test_a_read_that_fails_settles_nothing() -> None:
    """The fence conflicts and nobody can say what landed: it is tried again."""
    async with lost_bind(landed=True) as (harness, sleeper):
        harness.store.read_failures = [OutcomeUnknownError("timed out")]
        await harness.rest()
        assert [each.state for each in harness.reservations] == [State.UNCONFIRMED]
        sleeper.wake()
        await harness.rest()
        assert [each.state for each in harness.reservations] == [State.BOUND]


async def test_pauses_grow_to_ten_seconds() -> None:
    """An API that stays away is asked ever less often."""
    async with lost_bind(landed=False) as (harness, sleeper):
        harness.store.failures = [UNREACHABLE] * 6
        for _ in range(6):
            await harness.rest()
            sleeper.wake()
        await harness.rest()
        assert sleeper.asked == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
        assert not harness.reservations


async def test_a_fence_is_never_what_is_there_already() -> None:
    """A second unknown bind after a fence writes another text: one that changes nothing would keep nobody out."""
    async with lost_bind(landed=False) as (harness, _):
        await harness.rest()
        harness.store.held = True
        task = asyncio.create_task(harness.bind((await harness.reserve("a")).id))
        await harness.rest()
        (write,) = harness.store.writes
        before = harness.api.version
        harness.store.held = False
        harness.store.lose(write)
        with pytest.raises(PlacementError):
            await task
        await harness.rest()
        assert harness.api.version == before + 1
        assert not harness.reservations
        for late in list(harness.store.late):
            await harness.store.land(late)
            assert isinstance(late.landed, KubeError)
            assert not isinstance(late.landed, NotFoundError)
