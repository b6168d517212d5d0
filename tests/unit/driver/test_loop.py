"""The loop: pop, plan, bind, done; whatever goes wrong with one item, its attempt is done and the others go on."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from berth_server.driver.loop import BATCH, MAX_BINDS, TURN, Driver
from berth_server.placement.answers import PlanAnswer, PoppedItem
from berth_server.placement.failures import PlacementError, Reason
from berth_server.placement.questions import BindQuestion, PlanQuestion
from tests.builders import joins, pod, run, term
from tests.fakes.log import NullLog
from tests.harness import Harness


@dataclass
class Scripted:
    """The service of a harness, with one call of one Run replaced by a failure. `calls`: what the driver did."""

    service: Any
    failures: dict[tuple[str, str], Exception] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    distance: int = 0
    """How many turns of the loop a plan takes."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.service, name)

    async def pop(self, *, max_items: int, wait: float) -> list[PoppedItem]:
        """Take keys, and remember whose attempt is whose."""
        popped: list[PoppedItem] = list(await self.service.pop(max_items=max_items, wait=wait))
        self.names = {**getattr(self, "names", {}), **{each.attempt_id: each.item.name for each in popped}}
        return popped

    async def plan(self, question: PlanQuestion) -> PlanAnswer:
        """Plan, or fail."""
        answer: PlanAnswer = await self._do("plan", question.attempt_id, lambda: self.service.plan(question))
        for _ in range(self.distance):
            await asyncio.sleep(0)
        return answer

    async def bind(self, question: BindQuestion) -> object:
        """Bind, or fail."""
        return await self._do("bind", question.attempt_id, lambda: self.service.bind(question))

    async def done(self, attempt_id: str) -> None:
        """End an attempt, or fail."""
        await self._do("done", attempt_id, lambda: self.service.done(attempt_id))

    async def _do(self, what: str, attempt_id: str, call: Callable[[], Awaitable[Any]]) -> Any:
        key = what, self.names[attempt_id]
        self.calls.append(key)
        if key in self.failures:
            raise self.failures.pop(key)
        return await call()


async def scripted(*objects: Any, **failures: Exception) -> tuple[Harness, Scripted, Driver]:
    """Build a driver over a service that fails as told: `plan_a=ValueError()`."""
    harness = await Harness(*objects).start()
    named = {(key.split("_")[0], key.split("_")[1]): failure for key, failure in failures.items()}
    service = Scripted(harness.service, named)
    log = NullLog()
    harness.log = log
    return harness, service, Driver(service, log)  # type: ignore[arg-type]


async def test_order_of_calls() -> None:
    """Plan, bind, done; where nothing fits, plan, done. The bind is sent before the next item is planned."""
    _, service, driver = await scripted(run("a"), run("b"), pod("p1", capacity={"runs": 1}))
    assert await driver.step(wait=0) == 2
    await driver.settle()
    assert service.calls == [("plan", "a"), ("bind", "a"), ("plan", "b"), ("done", "b"), ("done", "a")]


async def test_order_over_a_channel() -> None:
    """Where a plan takes its time, the next one waits for it, and for its bind to be asked for; in queue order."""
    _, service, driver = await scripted(run("a"), run("b"), run("c"), pod("p1", capacity={"runs": 3}))
    service.distance = 3
    assert await driver.step(wait=0) == 3
    await driver.settle()
    asked = [(what, name) for what, name in service.calls if what != "done"]
    assert asked == [(what, name) for name in "abc" for what in ("plan", "bind")]


async def test_others_get_their_turn() -> None:
    """A batch is planned a few items at a time."""
    _, service, driver = await scripted(*(run(f"r{number}") for number in range(3 * TURN)), pod("p1"))
    stepping = asyncio.create_task(driver.step(wait=0))
    planned = []
    while not stepping.done():
        await asyncio.sleep(0)
        planned.append(sum(what == "plan" for what, _ in service.calls))
    assert max(after - before for before, after in pairwise(planned)) <= TURN
    assert planned[-1] == 3 * TURN
    await driver.settle()


@pytest.mark.parametrize(
    ("failures", "want_lines"),
    [
        pytest.param({"plan_a": ValueError("bug")}, ["plan failed"], id="bug in plan"),
        pytest.param({"bind_a": ValueError("bug")}, ["bind failed"], id="bug in bind"),
        pytest.param({"plan_a": PlacementError(Reason.NOT_SYNCED, "not yet.")}, ["not yet."], id="refused plan"),
        pytest.param({"bind_a": PlacementError(Reason.STALE_TARGET, "gone.")}, ["gone."], id="refused bind"),
        pytest.param({"plan_a": PlacementError(Reason.RESERVED_BY_OTHER, "held.")}, [], id="normal refusal"),
        pytest.param({"done_a": PlacementError(Reason.ATTEMPT_OVER, "over.")}, ["over."], id="late done"),
    ],
)
async def test_failures(failures: dict[str, Exception], want_lines: list[str]) -> None:
    """The attempt of a ends, b is placed, and the log says once what went wrong."""
    harness, service, driver = await scripted(run("a"), run("b"), pod("p1"), **failures)
    await driver.step(wait=0)
    await driver.settle()
    assert ("done", "a") in service.calls
    assert "ns/b" in harness.placements()
    assert [line for line, _ in harness.log.lines] == want_lines


async def test_seeds_in_one_batch() -> None:
    """A Run that seeds its affinity is bound before a later one of the batch can become its target elsewhere."""
    seed = run("a", labels={"app": "x"}, affinity=joins(term(app="x")), requests={"gpu": 1})
    target = run("b", labels={"app": "x"})
    harness = await Harness(seed, target, pod("p1"), pod("p2", capacity={"gpu": 1})).start()
    assert await harness.driver.step(wait=0) == 2
    await harness.driver.settle()
    assert harness.placements() == {"ns/a": "ns/p2", "ns/b": "ns/p1"}
    assert harness.metric("kruntimes_scheduler_reservation_conflicts_total", stage="bind") == 0


async def test_batches() -> None:
    """One step takes at most a batch; binds overlap."""
    runs = [run(f"r{number:03}") for number in range(BATCH + 8)]
    harness = await Harness(*runs, pod("p1", capacity={"runs": 100}), held=True).start()
    assert await harness.driver.step(wait=0) == BATCH
    await harness.rest()
    assert len(harness.store.writes) == BATCH
    assert await harness.driver.step(wait=0) == 8


async def test_waits_while_too_many_bind() -> None:
    """No more keys are taken while as many binds are in flight as may be; cancelled, they go on under the server."""
    runs = [run(f"r{number:03}") for number in range(3 * BATCH)]
    harness = await Harness(*runs, pod("p1", capacity={"runs": 100}), held=True).start()
    running = asyncio.create_task(harness.driver.run())
    for _ in range(20):
        await harness.rest()
    assert len(harness.store.writes) == MAX_BINDS
    for write in list(harness.store.writes[:2]):
        await harness.store.answer(write)
    for _ in range(20):
        await harness.rest()
    assert len(harness.reservations) > MAX_BINDS
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    harness.store.held = False
    while harness.store.writes:
        await harness.store.answer(harness.store.writes[0])
        await harness.rest()
    await harness.driver.settle()
    assert len(harness.placements()) == 3 * BATCH
