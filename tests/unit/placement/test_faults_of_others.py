"""Faults that other schedulers really had, rebuilt as scenarios."""

import asyncio
from random import Random

import pytest

from berth_server.placement.answers import Reserved, Unschedulable
from berth_server.placement.failures import PlacementError
from berth_server.placement.questions import PlanQuestion
from tests.builders import ago, pod, run
from tests.harness import Harness
from tests.invariants import Bounds, check_nothing_left, check_one, check_same

P1 = pod("p1", capacity={"runs": 1})
P2 = pod("p2", capacity={"runs": 1})


class TestDeletedAndCreatedAsOneChange:
    """A watch that broke shows the new object under the old name: another UID is a deletion and an addition."""

    async def gap(self, new: dict[str, object]) -> Harness:
        """Run a, on p1, is replaced by `new` while nobody looks."""
        harness = await Harness(run("a", on=P1), run("b"), P1, P2).start()
        await harness.delete("Run", "a")
        harness.put(new)
        harness.skip("Run")
        await harness.relist("Run")
        check_same(harness)
        return harness

    async def test_pending(self) -> None:
        """p1 is free again, and the new Run waits in the queue."""
        harness = await self.gap(run("a", uid="u2"))
        assert not harness.core.state.occupancy.ledger.use("ns/p1")
        assert "u2" in harness.core.queue
        await harness.drive()
        assert harness.placements().keys() == {"u2", "ns/b"}

    async def test_assigned_elsewhere(self) -> None:
        """p1 is free, p2 is taken, and nothing waits but b."""
        harness = await self.gap(run("a", uid="u2", on=P2))
        assert dict(harness.core.state.occupancy.ledger.use("ns/p2")) == {"runs": 1}
        await harness.drive()
        assert harness.placements() == {"u2": "ns/p2", "ns/b": "ns/p1"}


async def test_ghost_while_binding_makes_room_once() -> None:
    """A Run deleted during a slow bind frees its slot at once; its successor of the same name is another Run."""
    harness = await Harness(run("a"), P1, held=True).start()
    bounds = Bounds(harness)
    await harness.driver.step(wait=0)
    await harness.rest()
    await harness.delete("Run", "a")
    harness.put(run("a", uid="u2"))
    harness.pump()
    assert await harness.driver.step(wait=0) == 1
    await harness.rest()
    for write in list(harness.store.writes):
        await harness.store.answer(write)
        await harness.rest()
        bounds.check(harness)
        check_one(harness)
    await harness.driver.settle()
    assert harness.placements() == {"u2": "ns/p1"}


async def test_in_flight_log_is_bounded() -> None:
    """Heartbeats and changes by the thousand, while one attempt is never done, are kept once a kind and place."""
    harness = await Harness(run("a"), run("b"), P1, P2).start()
    await harness.service.pop(max_items=1, wait=0)
    for number in range(2000):
        await harness.set_ready("p1", "True" if number % 2 else "False")
        await harness.set_ready("p2", stamp=ago(-number))
        harness.pump()
    assert harness.core.queue.inflight_events <= 2
    await harness.advance(61.0)
    assert harness.core.queue.inflight_events == 0


async def test_attempt_that_fails_by_a_bug_leaves_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cycle that raises ends as an error of that Run, which is tried again."""
    harness = await Harness(run("a"), P1).start()
    with monkeypatch.context() as patch:
        patch.setattr(harness.core.reader, "look", None)
        assert await harness.driver.step(wait=0) == 1
    assert not len(harness.core.attempts)
    assert harness.core.queue.inflight_events == 0
    await harness.advance(1.0)
    await harness.drive()
    assert harness.placements() == {"ns/a": "ns/p1"}


async def test_churn() -> None:
    """1000 Runs through one slot: use comes back to nothing, and nothing is kept of any."""
    harness = await Harness(P1).start()
    bounds, rng = Bounds(harness), Random(1)
    for number in range(1000):
        name = f"r{number}"
        harness.put(run(name))
        harness.pump()
        await harness.drive()
        assert harness.placements() == {f"ns/{name}": "ns/p1"}
        if rng.random() < 0.5:
            await harness.set_status("Run", name, phase="Succeeded")
            harness.pump()
        await harness.delete("Run", name)
        harness.pump()
    bounds.check(harness)
    check_same(harness)
    check_nothing_left(harness)


async def test_restart_with_a_terminating_run() -> None:
    """An assigned Run that is terminating counts until it is terminal, and is never queued or planned."""
    harness = await Harness(run("a", on=P1, terminating=True), run("gone", terminating=True), run("b"), P1).start()
    assert [row.key.uid for row in harness.core.queue.rows()] == ["ns/b"]
    assert isinstance(await harness.plan("b"), Unschedulable)
    await harness.set_status("Run", "a", phase="Failed")
    harness.pump()
    assert isinstance(await harness.plan("b"), Reserved)


async def test_restart_while_bound_elsewhere() -> None:
    """A new process knows nothing of the reservations of the last one: what is assigned counts, what is not is free."""
    first = await Harness(run("a"), run("b"), P1).start()
    await first.bind((await first.reserve("a")).id)
    second = await Harness(
        *(first.api.get(first.ref(*key)) for key in [("Run", "a"), ("Run", "b"), ("Pod", "p1")])
    ).start()
    assert isinstance(await second.plan("b"), Unschedulable)
    await second.drive()
    assert second.placements() == {"ns/a": "ns/p1"}


async def test_shrunk_capacity_is_never_made_worse() -> None:
    """A Pod with more on it than it has takes nothing, evicts nothing, and is named."""
    holders = [run(f"h{number}", on=P1) for number in range(3)]
    harness = await Harness(*holders, run("a"), pod("p1", capacity={"runs": 4})).start()
    held = await harness.reserve("a")
    await harness.set_capacity("p1", "ns", runs=2)
    harness.pump()
    assert [candidate.name for candidate in harness.core.state.overcommitted()] == ["p1"]
    with pytest.raises(PlacementError, match="InsufficientCapacity"):
        await harness.bind(held.id)
    await harness.drive()
    assert len(harness.placements()) == 3
    assert not harness.reservations


async def test_planning_is_atomic() -> None:
    """Plans that run at once never take the same room: no await lies between the look and the reservation."""
    runs = [run(f"r{number}") for number in range(20)]
    harness = await Harness(*runs, P1, P2).start()
    questions = [PlanQuestion(harness.run(f"r{number}"), f"owner-{number}") for number in range(20)]
    results = [answer.result for answer in await asyncio.gather(*map(harness.service.plan, questions))]
    assert sum(isinstance(result, Reserved) for result in results) == 2
