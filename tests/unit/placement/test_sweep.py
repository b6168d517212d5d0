"""The safety net under the wake-ups: what it rescues, what it leaves alone, and that it counts."""

from berth_server.placement.sweep import Sweeper
from berth_server.queue.key import PendingState
from tests.builders import pod, run
from tests.harness import Harness

SWEPT = "berth_queue_activations_total"


async def full_pod_and_one_waiting() -> Harness:
    """Return a world where `b` waits because `a` fills the only Pod."""
    first = pod(capacity={"runs": 1})
    harness = await Harness(first, run("a", on=first), run("b")).start()
    await harness.drive()
    assert harness.core.queue.state_of(harness.item("b").uid) is PendingState.UNSCHEDULABLE
    return harness


async def test_nothing_is_rescued_where_nothing_fits() -> None:
    """A Run that waits with good reason is left waiting, and nothing is counted."""
    harness = await full_pod_and_one_waiting()
    assert Sweeper(harness.core).sweep() == 0
    assert harness.metric(SWEPT, cause="sweep") == 0


async def test_a_lost_wake_up_is_rescued_counted_and_logged() -> None:
    """Room that came without an event is found by the next sweep, and said to be a bug."""
    harness = await full_pod_and_one_waiting()
    harness.core.state.remove_item(harness.item("a").uid)
    harness.core.state.take_facts()  # the wake-up that is lost
    assert Sweeper(harness.core).sweep() == 1
    assert harness.metric(SWEPT, cause="sweep") == 1
    assert harness.log.lines[-1][0] == "a wake-up was lost"
    await harness.advance(10)
    await harness.drive()
    assert harness.placements()[harness.item("b").uid] == "ns/p1"


async def test_a_sweep_goes_on_where_the_last_one_ended() -> None:
    """Few keys are looked at a time, and all of them in the end."""
    first = pod(capacity={"runs": 1})
    names = [f"w{number}" for number in range(5)]
    harness = await Harness(first, run("a", on=first), *(run(name) for name in names)).start()
    await harness.drive()
    harness.core.state.remove_item(harness.item("a").uid)
    harness.core.state.take_facts()
    sweeper = Sweeper(harness.core, keys=2)
    assert [sweeper.sweep() for _ in range(3)] == [2, 2, 1]
