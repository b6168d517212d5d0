"""Pop and Done: the table that moves keys, leases, and attempts that end in the middle of something."""

import asyncio

import pytest

from berth_server.placement.answers import PoppedItem, Reserved
from berth_server.placement.failures import PlacementError, Reason
from berth_server.placement.ports import ConflictError, NotFoundError, OutcomeUnknownError, RefusedError, ThrottledError
from berth_server.placement.questions import BindQuestion, PlanQuestion, ReleaseQuestion, ReserveQuestion
from berth_server.queue.key import PendingState
from berth_server.state.reservations import State
from tests.builders import ago, pod, run
from tests.harness import Harness
from tests.invariants import check_nothing_left

P1 = pod("p1", capacity={"runs": 1})


async def pop(harness: Harness) -> PoppedItem:
    """Take the one key there is."""
    (popped,) = await harness.service.pop(max_items=1, wait=0)
    return popped


async def planned(harness: Harness) -> tuple[PoppedItem, str]:
    """Take and plan the one key there is; return the reservation, too."""
    popped = await pop(harness)
    answer = await harness.service.plan(PlanQuestion(popped.item, "driver", attempt_id=popped.attempt_id))
    assert isinstance(answer.result, Reserved)
    return popped, answer.result.reservation.id


def state(harness: Harness, name: str = "a") -> PendingState | None:
    """Return where the key of a Run is."""
    return harness.core.queue.state_of(f"ns/{name}")


@pytest.mark.parametrize(
    ("failure", "want_state", "want_wait"),
    [
        pytest.param(None, None, 0.0, id="bound: forgotten"),
        pytest.param(ConflictError("changed"), PendingState.RETRY_DELAY, 1.0, id="409 on a view that is behind: waits"),
        pytest.param(NotFoundError("gone"), PendingState.BACKOFF, 1.0, id="404: error backoff"),
        pytest.param(
            RefusedError("no", code=403, reason="Forbidden"), PendingState.BACKOFF, 1.0, id="403: error backoff"
        ),
        pytest.param(ThrottledError("later", retry_after=7.0), PendingState.BACKOFF, 7.0, id="429: Retry-After"),
        pytest.param(OutcomeUnknownError("lost"), PendingState.UNSCHEDULABLE, 0.0, id="unknown: until it is settled"),
    ],
)
async def test_after_bind(failure: Exception | None, want_state: PendingState | None, want_wait: float) -> None:
    """Where the key goes, by what its bind came to."""
    harness = await Harness(run("a"), P1).start()
    harness.store.failures = [failure] if failure else []
    await harness.driver.step(wait=0)
    await harness.driver.settle()
    assert state(harness) is want_state
    due = harness.core.queue.next_due()
    assert due == harness.clock.monotonic() + want_wait if want_wait else due == float("inf")
    assert not len(harness.core.attempts)


async def test_conflict_on_an_old_view_does_not_spin() -> None:
    """409 while the view lags: no second write until the view has moved on, then at once."""
    harness = await Harness(run("a"), P1).start()
    await harness.label("Run", "a", touched="yes")
    attempts = 0
    for _ in range(50):
        attempts += await harness.driver.step(wait=0)
        await harness.driver.settle()
    assert attempts == 1
    assert harness.metric("kruntimes_scheduler_reservation_conflicts_total", stage="bind") == 1
    assert harness.pump() == 1
    assert state(harness) is PendingState.ACTIVE
    await harness.drive()
    assert harness.placements() == {"ns/a": "ns/p1"}


async def test_conflict_on_a_view_that_never_moves() -> None:
    """An hour in which the view stands still costs a write every 10 s, not one a cycle."""
    harness = await Harness(run("a"), P1).start()
    await harness.label("Run", "a", touched="yes")
    attempts = 0
    for _ in range(3600):
        await harness.advance(1.0)
        attempts += await harness.driver.step(wait=0)
        await harness.driver.settle()
    assert 300 < attempts < 400


async def test_conflict_behind_a_view_that_has_moved() -> None:
    """409, and the newer version arrives before Done: tried again at once."""
    harness = await Harness(run("a"), P1).start()
    popped, reservation = await planned(harness)
    await harness.label("Run", "a", touched="yes")
    with pytest.raises(PlacementError):
        await harness.service.bind(BindQuestion(reservation, "driver", popped.attempt_id))
    harness.pump()
    await harness.service.done(popped.attempt_id)
    assert state(harness) is PendingState.ACTIVE


@pytest.mark.parametrize("end", ["candidate gone", "expired", "next attempt"])
async def test_reservation_ends_between_plan_and_done(end: str) -> None:
    """What was lost to a newer state is a conflict: active, without backoff."""
    harness = await Harness(run("a"), P1).start()
    popped, reservation = await planned(harness)
    if end == "candidate gone":
        await harness.delete("Pod", "p1")
    elif end == "next attempt":
        await harness.set_status("Run", "a", attempt=2)
    else:
        await harness.advance(31.0)
    harness.pump()
    with pytest.raises(PlacementError) as caught:
        await harness.service.bind(BindQuestion(reservation, "driver", popped.attempt_id))
    assert caught.value.reason is Reason.UNKNOWN_RESERVATION
    await harness.service.done(popped.attempt_id)
    assert state(harness) is PendingState.ACTIVE


async def test_done_without_bind() -> None:
    """Planned and not bound: the room is given back, the key backs off as from an error."""
    harness = await Harness(run("a"), P1).start()
    popped, _ = await planned(harness)
    await harness.service.done(popped.attempt_id)
    assert not harness.reservations
    assert state(harness) is PendingState.BACKOFF


async def test_released_between_plan_and_done() -> None:
    """Who gives back what it planned does not get the key again at once."""
    harness = await Harness(run("a"), P1).start()
    popped, reservation = await planned(harness)
    assert await harness.service.release(ReleaseQuestion(reservation, "driver"))
    await harness.service.done(popped.attempt_id)
    assert state(harness) is PendingState.BACKOFF


async def test_reserve_then_bind_in_an_attempt() -> None:
    """A driver that goes by Filter, Score, Reserve, Bind has its attempt judged by what Bind said."""
    harness = await Harness(run("a"), P1).start()
    popped = await pop(harness)
    answer = await harness.service.reserve(ReserveQuestion(popped.item, harness.pod("p1"), "remote"))
    await harness.service.bind(BindQuestion(answer.reservation.id, "remote", popped.attempt_id))
    await harness.service.done(popped.attempt_id)
    assert state(harness) is None


async def test_lost_at_reserve_in_an_attempt() -> None:
    """Lost at Reserve: active again, backoff not grown."""
    harness = await Harness(run("a"), run("b", on=P1), P1).start()
    popped = await pop(harness)
    question = ReserveQuestion(popped.item, harness.pod("p1"), "remote", attempt_id=popped.attempt_id)
    with pytest.raises(PlacementError):
        await harness.service.reserve(question)
    await harness.service.done(popped.attempt_id)
    assert state(harness) is PendingState.ACTIVE
    assert harness.metric("kruntimes_scheduler_reservation_conflicts_total", stage="reserve") == 1


class TestLease:
    """A lease that ends without Done."""

    async def test_while_held(self) -> None:
        """HELD is dropped, the key backs off, a late Bind and Done change nothing."""
        harness = await Harness(run("a"), P1).start()
        popped, _ = await planned(harness)
        await harness.reserve("a", hold=120.0)
        await harness.advance(60.5)
        assert not harness.reservations
        assert state(harness) is PendingState.BACKOFF
        for call in (
            harness.service.done(popped.attempt_id),
            harness.service.plan(PlanQuestion(popped.item, "driver", attempt_id=popped.attempt_id)),
        ):
            with pytest.raises(PlacementError) as caught:
                await call
            assert caught.value.reason is Reason.ATTEMPT_OVER
        assert not harness.reservations

    async def test_while_binding(self) -> None:
        """BINDING goes on under the server; the next attempt joins the write, and its outcome is its own."""
        harness = await Harness(run("a"), P1, held=True).start()
        popped, reservation = await planned(harness)
        first = asyncio.create_task(harness.service.bind(BindQuestion(reservation, "driver", popped.attempt_id)))
        await harness.rest()
        await harness.advance(61.0)
        assert [each.state for each in harness.reservations] == [State.BINDING]
        await harness.advance(1.1)
        assert await harness.driver.step(wait=0) == 1
        await harness.rest()
        (write,) = harness.store.writes
        await harness.store.answer(write)
        await first
        await harness.driver.settle()
        assert state(harness) is None
        assert harness.store.written == 1

    async def overtaken(self) -> tuple[Harness, PoppedItem, asyncio.Task[object]]:
        """Let the lease end while the write is out, and plan in the next attempt."""
        harness = await Harness(run("a"), P1, held=True).start()
        popped, reservation = await planned(harness)
        question = BindQuestion(reservation, "driver", popped.attempt_id)
        first: asyncio.Task[object] = asyncio.create_task(harness.service.bind(question))
        await harness.rest()
        await harness.advance(61.0)
        await harness.advance(1.1)
        again = await pop(harness)
        await harness.service.plan(PlanQuestion(again.item, "driver", attempt_id=again.attempt_id))
        return harness, again, first

    async def test_refused_under_the_next_attempt(self) -> None:
        """What the write comes to is told to the attempt that planned last."""
        harness, again, first = await self.overtaken()
        await harness.label("Run", "a", touched="yes")
        await harness.store.answer(harness.store.writes[0])
        await asyncio.gather(first, return_exceptions=True)
        harness.pump()
        await harness.service.done(again.attempt_id)
        assert state(harness) is PendingState.ACTIVE

    async def test_unknown_before_the_next_attempt_binds(self) -> None:
        """The next attempt finds the outcome unknown: its key waits for the settlement."""
        harness, again, first = await self.overtaken()
        (reservation,) = harness.reservations
        harness.core.reservations.adopt(reservation, "")
        harness.store.lose(harness.store.writes[0])
        await asyncio.gather(first, return_exceptions=True)
        with pytest.raises(PlacementError) as caught:
            await harness.service.bind(BindQuestion(reservation.id, "driver", again.attempt_id))
        assert caught.value.reason is Reason.BIND_IN_PROGRESS
        await harness.service.done(again.attempt_id)
        assert state(harness) is PendingState.UNSCHEDULABLE

    async def test_while_unknown(self) -> None:
        """UNCONFIRMED: the next attempt waits for the settlement, and is not tried again and again."""
        harness = await Harness(run("a"), P1).start()
        harness.store.failures = [OutcomeUnknownError("lost")]
        await harness.driver.step(wait=0)
        await harness.driver.settle()
        taken = 0
        for _ in range(600):
            await harness.advance(1.0)
            taken += await harness.driver.step(wait=0)
        assert taken == 0
        await harness.label("Run", "a", touched="yes")
        harness.pump()
        await harness.drive()
        assert harness.placements() == {"ns/a": "ns/p1"}


async def test_reset_seen_before_the_answer() -> None:
    """The view jumps over the assignment to the next attempt while the bind is not answered: it is planned again."""
    harness = await Harness(run("a"), P1, held=True).start()
    await harness.driver.step(wait=0)
    await harness.rest()
    (write,) = harness.store.writes
    await harness.store.land(write)
    await harness.set_status("Run", "a", phase="Pending", attempt=2, assignedPod=None, assignedPodUID=None)
    await harness.relist("Run")
    await harness.store.answer(write)
    await harness.rest()
    assert state(harness) is PendingState.ACTIVE
    harness.store.held = False
    await harness.drive()
    assert harness.status("a")["assignedPod"] == "p1"
    assert harness.store.assigned == {("ns/a", 1): 1, ("ns/a", 2): 1}


class TestTerminalWrites:
    """An item that will never be placed is made terminal, and no key stays in its attempt."""

    INVALID = run("a", requests={"gpu": -1})

    async def test_written(self) -> None:
        """Failed with the reason; forgotten."""
        harness = await Harness(self.INVALID, P1).start()
        await harness.drive()
        status = harness.status("a")
        assert (status["phase"], status["conditions"][0]["reason"]) == ("Failed", "InvalidResources")
        assert state(harness) is None

    @pytest.mark.parametrize("failure", [ConflictError("changed"), OutcomeUnknownError("lost"), TypeError("bug")])
    async def test_not_written(self, failure: Exception) -> None:
        """Error backoff, and the next attempt writes it."""
        harness = await Harness(self.INVALID, P1).start()
        harness.store.failures = [failure]
        await harness.driver.step(wait=0)
        assert state(harness) is PendingState.BACKOFF
        await harness.advance(1.0)
        await harness.drive()
        assert harness.status("a")["phase"] == "Failed"

    async def test_bug_on_the_way(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An exception of ours is logged, and the key leaves its attempt."""
        harness = await Harness(self.INVALID, P1).start()
        with monkeypatch.context() as patch:
            patch.setattr(harness.writer, "finish", None)
            await harness.driver.step(wait=0)
        assert state(harness) is PendingState.BACKOFF
        assert "attempt failed by a bug" in [line for line, _ in harness.log.lines]

    async def test_cancelled_call(self) -> None:
        """A Done that is cancelled while it writes leaves its key to be tried again."""
        harness = await Harness(self.INVALID, P1, held=True).start()
        popped = await pop(harness)
        await harness.service.plan(PlanQuestion(popped.item, "driver", attempt_id=popped.attempt_id))
        done = asyncio.create_task(harness.service.done(popped.attempt_id))
        await harness.rest()
        done.cancel()
        await asyncio.gather(done, return_exceptions=True)
        assert state(harness) is PendingState.BACKOFF


async def test_retry_delay() -> None:
    """A Run that waits for its retry is tried when that is over, and not before."""
    ended = [{"type": "Running", "status": "False", "lastTransitionTime": ago(0)}]
    again = run("a", retryPolicy={"backoff": "4s"}, status={"attempt": 2, "conditions": ended})
    harness = await Harness(again, P1).start()
    await harness.drive()
    assert state(harness) is PendingState.RETRY_DELAY
    await harness.advance(3.9)
    assert await harness.drive() == 0
    await harness.advance(0.2)
    await harness.drive()
    assert harness.placements() == {"ns/a": "ns/p1"}


async def test_pop_gives_nothing_twice() -> None:
    """Two callers never get the same key; a key in flight that is woken is not handed out."""
    harness = await Harness(run("a"), run("b"), P1).start()
    first = await harness.service.pop(max_items=5, wait=0)
    await harness.label("Run", "a", new="label")
    harness.pump()
    assert len(first) == 2
    assert not await harness.service.pop(max_items=5, wait=0)


async def test_pop_waits_for_news() -> None:
    """A long poll ends with the Run that comes."""
    harness = await Harness(P1).start()
    polling = asyncio.create_task(harness.service.pop(max_items=1, wait=3600.0))
    await harness.rest()
    assert not polling.done()
    harness.put(run("a"))
    harness.pump()
    assert [popped.item.name for popped in await polling] == ["a"]


async def test_deleted_in_flight() -> None:
    """A Run that is deleted in the middle of its attempt leaves nothing."""
    harness = await Harness(run("a"), P1).start()
    popped, _ = await planned(harness)
    await harness.delete("Run", "a")
    harness.pump()
    await harness.service.done(popped.attempt_id)
    check_nothing_left(harness)


async def test_news_that_come_as_a_waiter_lies_down_wake_every_waiter() -> None:
    """Two wait, for keys and for time: what happens before the loop turns once is lost to neither."""
    harness = await Harness(pod()).start()
    keeping = asyncio.create_task(harness.service.work.keep_time())
    popping = asyncio.create_task(harness.service.pop(max_items=1, wait=3600))
    await asyncio.sleep(0)  # both have looked, and wait
    harness.put(run("a"))
    harness.pump()
    taken = await asyncio.wait_for(popping, 5)
    assert [each.item.name for each in taken] == ["a"]
    keeping.cancel()
    await asyncio.wait([keeping])
    assert not harness.service.work._waiting
