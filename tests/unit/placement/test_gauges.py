"""The numbers that are read off the state now and then."""

from berth_server.driver.loop import OWNER
from berth_server.placement.gauges import refresh
from berth_server.placement.questions import ReleaseQuestion
from tests.builders import pod, run
from tests.harness import Harness


async def test_gauges_tell_what_the_state_is() -> None:
    """Each gauge shows the figure that the state has, after a refresh and not before."""
    small, gone = pod("p1", capacity={"runs": 1}), pod("gone")
    harness = await Harness(
        small,
        run("a", on=small),
        run("over", on=small),
        run("lost", on=gone, phase="Scheduled"),
        run("waits"),
    ).start()
    await harness.drive()
    assert harness.metric("berth_pending", queue="unschedulable") == 0
    refresh(harness.core, harness.service.work)
    want = {
        "berth_overcommitted_candidates": 1,
        "berth_scheduled_on_missing_pod": 1,
        "berth_assumed": 0,
        "berth_leader": 1,
    }
    assert {name: harness.metric(name) for name in want} == want
    assert harness.metric("berth_pending", queue="unschedulable") == 1


async def test_the_oldest_reservation_has_an_age() -> None:
    """The age rises with the clock while room is held, and is 0 when none is."""
    harness = await Harness(pod(), run("a")).start()
    reservation = await harness.reserve("a", hold=60)
    await harness.advance(7)
    refresh(harness.core, harness.service.work)
    assert harness.metric("berth_assumed_oldest_age_seconds") == 7
    assert await harness.service.release(ReleaseQuestion(reservation.id, OWNER))
    refresh(harness.core, harness.service.work)
    assert harness.metric("berth_assumed_oldest_age_seconds") == 0
