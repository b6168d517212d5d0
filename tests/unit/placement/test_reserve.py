"""Reserve, renew and release: natural keys are the idempotency, and a hold ends by nothing but what the rules say."""

from collections.abc import Awaitable

import pytest

from berth_server.placement.answers import AlreadyReserved, Reserved, Unschedulable
from berth_server.placement.failures import PlacementError, Reason
from berth_server.placement.questions import ReleaseQuestion
from tests.builders import avoids, joins, pod, run, term
from tests.harness import Harness
from tests.invariants import check_same


async def world(*more: dict[str, object]) -> Harness:
    """Start with Runs a and b, one slot on p1 and one on p2."""
    slots = pod("p1", capacity={"runs": 1}), pod("p2", capacity={"runs": 1})
    return await Harness(run("a"), run("b"), *slots, *more).start()


async def error_of(call: Awaitable[object]) -> PlacementError:
    """Return how a call failed."""
    with pytest.raises(PlacementError) as caught:
        await call
    return caught.value


async def test_the_same_again_renews() -> None:
    """One reservation, held for longer and never for shorter."""
    harness = await world()
    first = await harness.reserve("a", hold=10.0)
    await harness.advance(5.0)
    again = await harness.reserve("a", hold=10.0)
    assert again.id == first.id
    await harness.reserve("a", hold=1.0)
    await harness.advance(10.0)
    assert [each.id for each in harness.reservations] == [first.id]
    await harness.advance(0.001)
    assert not harness.reservations


async def test_renewal_asks_the_chain_again() -> None:
    """What no longer fits is dropped, and the caller hears why."""
    harness = await world()
    await harness.reserve("a")
    await harness.set_ready("p1", "False")
    harness.pump()
    error = await error_of(harness.reserve("a"))
    assert (error.reason, error.metadata["reason"]) == (Reason.RESERVATION_CONFLICT, "RuntimePodNotReady")
    assert not harness.reservations


async def test_renewal_does_not_count_itself() -> None:
    """A Run that holds the last slot, and repels its own labels, can renew: it is judged as if it were nowhere."""
    shy = run("shy", labels={"app": "x"}, affinity=avoids(term(app="x")))
    harness = await world(shy)
    first = await harness.reserve("shy")
    assert (await harness.reserve("shy")).id == first.id
    assert isinstance(await harness.plan("shy"), AlreadyReserved)


async def test_another_candidate() -> None:
    """The one that is held is named, and stays held."""
    harness = await world()
    held = await harness.reserve("a", "p1")
    error = await error_of(harness.reserve("a", "p2"))
    assert (error.reason, error.metadata["candidate"]) == (Reason.RESERVATION_CONFLICT, "p1")
    assert [each.id for each in harness.reservations] == [held.id]


@pytest.mark.parametrize("name", ["a", "b"])
async def test_somebody_elses(name: str) -> None:
    """Neither the Run nor the room that another owner holds can be had."""
    harness = await world()
    await harness.reserve("a", owner="client")
    want = Reason.RESERVED_BY_OTHER if name == "a" else Reason.RESERVATION_CONFLICT
    assert (await error_of(harness.reserve(name))).reason is want
    assert len(harness.reservations) == 1


async def test_release() -> None:
    """By its owner alone; of nothing it is false; the room is free in the same step."""
    harness = await world()
    held = await harness.reserve("a")
    assert (await error_of(harness.service.release(ReleaseQuestion(held.id, "client")))).reason is (
        Reason.RESERVED_BY_OTHER
    )
    assert await harness.service.release(ReleaseQuestion(held.id, "driver"))
    assert not await harness.service.release(ReleaseQuestion(held.id, "driver"))
    assert (await harness.reserve("b", "p1")).candidate.name == "p1"
    check_same(harness)


async def test_two_seeds() -> None:
    """Two Runs that may each seed an affinity: the second finds the first, and joins it."""
    seeds = [run(name, labels={"app": "x"}, affinity=joins(term(app="x"))) for name in ("s1", "s2")]
    harness = await Harness(*seeds, pod("p1"), pod("p2")).start()
    first = await harness.reserve("s1", "p2")
    assert (await error_of(harness.reserve("s2", "p1"))).metadata["reason"] == "UnsatisfiedRunAffinity"
    second = await harness.plan("s2")
    assert isinstance(second, Reserved)
    assert second.reservation.candidate == first.candidate


async def test_a_cycle_elsewhere_frees_nothing() -> None:
    """S01: a cycle in namespace B does not touch what namespace A has bound and not yet seen."""
    harness = await Harness(
        run("a"), run("a2"), pod("p1", capacity={"runs": 1}), run("c", namespace="other"), pod("p1", namespace="other")
    ).start()
    await harness.bind((await harness.reserve("a")).id)
    assert isinstance(await harness.plan("c", namespace="other"), Reserved)
    assert isinstance(await harness.plan("a2"), Unschedulable)


async def test_same_name_elsewhere() -> None:
    """S02: a reservation on p1 of namespace A is neither use nor an affinity target on p1 of namespace B."""
    affine = run("c", namespace="other", affinity=joins(term(app="x")))
    target = run("a", labels={"app": "x"})
    one = {"runs": 1}
    harness = await Harness(
        target, affine, run("d", namespace="other"), pod("p1", capacity=one), pod("p1", namespace="other", capacity=one)
    ).start()
    await harness.reserve("a")
    assert isinstance(await harness.plan("c", namespace="other"), Unschedulable)
    assert isinstance(await harness.plan("d", namespace="other"), Reserved)


@pytest.mark.parametrize("after", [0.0, 29.999, 30.0])
async def test_hold_includes_its_last_moment(after: float) -> None:
    """30 s are 30.000 s, on the clock that nobody steps."""
    harness = await world()
    await harness.reserve("a")
    harness.clock.step_wall(3600.0)
    await harness.advance(after)
    assert len(harness.reservations) == 1
