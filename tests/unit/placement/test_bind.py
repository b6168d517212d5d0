"""Bind: one write, its outcome, and the room given back by every way out."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from berth_server.config.file import PluginConfig
from berth_server.framework.engine import Cycle, Engine
from berth_server.framework.profile import build
from berth_server.objects.item import Item
from berth_server.placement.answers import BindOutcome, Fits, Reserved, Unschedulable
from berth_server.placement.failures import PlacementError, Reason
from berth_server.placement.ports import (
    ConflictError,
    NotFoundError,
    OutcomeUnknownError,
    RefusedError,
    ThrottledError,
)
from berth_server.placement.questions import ReadOptions
from berth_server.plugins import REGISTRY
from berth_server.state.reservations import State
from tests.builders import avoids, pod, run, term
from tests.harness import Harness
from tests.invariants import Bounds, check_nothing_left, check_one, check_same

P1 = pod("p1", capacity={"runs": 1})
FORBIDDEN = RefusedError("runs.kruntimes.io is forbidden", code=403, reason="Forbidden")
THROTTLED = ThrottledError("too many requests", retry_after=7.0)


async def world(*more: dict[str, object], held: bool = False) -> Harness:
    """Start with Runs a and b, and one slot on p1."""
    return await Harness(run("a"), run("b"), P1, *more, held=held).start()


async def binding(harness: Harness, name: str = "a") -> asyncio.Task[object]:
    """Reserve p1 and begin to bind, up to the write that waits."""
    reservation = await harness.reserve(name)
    task: asyncio.Task[object] = asyncio.create_task(harness.bind(reservation.id))
    await harness.rest()
    return task


async def reason_of(call: Awaitable[object]) -> Reason:
    """Return why a call failed."""
    with pytest.raises(PlacementError) as caught:
        await call
    return caught.value.reason


class TestRoomComesBack:
    """p1 has one slot. However the bind of a fails, b has the slot in its first cycle."""

    @pytest.mark.parametrize(
        ("failure", "want_reason"),
        [
            pytest.param(ConflictError("changed"), Reason.STALE_ITEM, id="409"),
            pytest.param(NotFoundError("gone"), Reason.STALE_ITEM, id="404"),
            pytest.param(FORBIDDEN, Reason.BIND_REFUSED, id="403"),
            pytest.param(THROTTLED, Reason.BIND_REFUSED, id="429"),
        ],
    )
    async def test_after_a_refusal(self, failure: Exception, want_reason: Reason) -> None:
        """A definite refusal drops the reservation in the step that reports it."""
        harness = await world()
        reservation = await harness.reserve("a")
        before = harness.item("a")
        harness.store.failures = [failure]
        assert await reason_of(harness.bind(reservation.id)) is want_reason
        assert not harness.reservations
        assert harness.item("a") is before
        await self.b_takes_the_slot(harness)

    async def test_after_a_bug_before_the_write(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An exception of ours before anything was sent drops the reservation, and is logged once."""
        harness = await world()
        reservation = await harness.reserve("a")

        def broken(*_: object) -> None:
            raise ValueError("bug")

        with monkeypatch.context() as patch:
            patch.setattr("berth_server.kube.writer.with_own", broken)
            assert await reason_of(harness.bind(reservation.id)) is Reason.INTERNAL
        assert [line for line, _ in harness.log.lines] == ["bind failed by a bug"]
        await self.b_takes_the_slot(harness)

    async def test_after_a_bug_in_the_second_look(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An exception of ours between Reserve and the write drops the reservation before it passes on."""
        harness = await world()
        reservation = await harness.reserve("a")
        harness.core.state.generation += 1
        with monkeypatch.context() as patch:
            patch.setattr(harness.core.reader, "look", None)
            with pytest.raises(TypeError):
                await harness.bind(reservation.id)
        assert not harness.reservations
        await self.b_takes_the_slot(harness)

    async def test_after_a_deletion_while_binding(self) -> None:
        """DELETED drops the reservation at once; the write that returns later frees nothing twice."""
        harness = await world(held=True)
        bounds, task = Bounds(harness), await binding(harness)
        await harness.delete("Run", "a")
        harness.pump()
        assert not harness.reservations
        assert isinstance(await harness.plan("b"), Reserved)
        await harness.store.answer(harness.store.writes[0])
        assert await reason_of(task) is Reason.STALE_ITEM
        bounds.check(harness)
        check_same(harness)
        assert [each.item.name for each in harness.reservations] == ["b"]

    async def test_after_a_lost_write_was_overtaken(self) -> None:
        """An outcome that nobody knows keeps the room until a newer version of the Run shows that it did not land."""
        harness = await world(held=True)
        task = await binding(harness)
        harness.store.lose(harness.store.writes[0])
        assert await reason_of(task) is Reason.BIND_IN_PROGRESS
        assert isinstance(await harness.plan("b"), Unschedulable)
        await harness.label("Run", "a", touched="yes")
        harness.pump()
        harness.store.held = False
        await self.b_takes_the_slot(harness)

    async def b_takes_the_slot(self, harness: Harness) -> None:
        """Delete a; b is bound by its first cycle; nothing is left."""
        await harness.delete("Run", "a")
        harness.pump()
        result = await harness.plan("b")
        assert isinstance(result, Reserved)
        await harness.bind(result.reservation.id)
        assert harness.placements() == {"ns/b": "ns/p1"}
        check_one(harness)
        check_same(harness)
        await harness.delete("Run", "b")
        harness.pump()
        await harness.rest()
        check_nothing_left(harness)


class TestTheSecondLook:
    """The filters are asked again unless nothing changed since they took the reservation."""

    @staticmethod
    async def looks(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> int:
        """Bind a, reserved before, and return how often the state was looked at for that."""
        (reservation,) = harness.reservations
        looked: list[Item] = []
        look = harness.core.reader.look

        def counted(item: Item, profile: str = "") -> Cycle:
            looked.append(item)
            return look(item, profile)

        monkeypatch.setattr(harness.core.reader, "look", counted)
        assert (await harness.bind(reservation.id)).outcome is BindOutcome.BOUND
        return len(looked)

    async def test_nothing_changed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A bind that follows at once costs no look."""
        harness = await world()
        await harness.reserve("a")
        assert await self.looks(harness, monkeypatch) == 0

    async def test_anything_changed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whatever it was, and if it concerns others alone."""
        harness = await world()
        await harness.reserve("a")
        await harness.label("Run", "b", app="web")
        harness.pump()
        assert await self.looks(harness, monkeypatch) == 1

    async def test_renewed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A renewal is a look of its own, and a bind still asks when something changed before it."""
        harness = await world()
        await harness.reserve("a")
        await harness.label("Run", "b", app="web")
        harness.pump()
        await harness.reserve("a")
        assert await self.looks(harness, monkeypatch) == 1


class TestCallers:
    """The write belongs to no call."""

    async def test_cancelled_call(self) -> None:
        """A call that is cancelled leaves the write to be settled, and the next call joins it."""
        harness = await world(held=True)
        task = await binding(harness)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        (reservation,) = harness.reservations
        again = asyncio.create_task(harness.bind(reservation.id))
        await harness.rest()
        (write,) = harness.store.writes
        await harness.store.answer(write)
        assert (await again).outcome is BindOutcome.BOUND
        assert harness.store.written == 1

    async def test_many_callers_one_write(self) -> None:
        """Calls that bind the same reservation send one write and get one answer."""
        harness = await world(held=True)
        reservation = await harness.reserve("a")
        tasks = [asyncio.create_task(harness.bind(reservation.id)) for _ in range(5)]
        await harness.rest()
        (write,) = harness.store.writes
        await harness.store.answer(write)
        answers = await asyncio.gather(*tasks)
        assert {(answer.outcome, answer.version) for answer in answers} == {(BindOutcome.BOUND, harness.api.version)}

    async def test_again_before_the_echo(self) -> None:
        """Bound and not yet seen: the same call answers ALREADY_BOUND and writes nothing."""
        harness = await world()
        reservation = await harness.reserve("a")
        first = await harness.bind(reservation.id)
        again = await harness.bind(reservation.id)
        assert (again.outcome, again.version) == (BindOutcome.ALREADY_BOUND, first.version)
        assert harness.store.written == 1

    async def test_again_while_the_outcome_is_unknown(self) -> None:
        """Nobody may write a second time while the first write may still land."""
        harness = await world(held=True)
        task = await binding(harness)
        harness.store.lose(harness.store.writes[0])
        assert await reason_of(task) is Reason.BIND_IN_PROGRESS
        (reservation,) = harness.reservations
        assert await reason_of(harness.bind(reservation.id)) is Reason.BIND_IN_PROGRESS
        assert not harness.store.writes


Event = Callable[[Harness], Awaitable[object]]


async def _replace_pod(harness: Harness) -> None:
    await harness.delete("Pod", "p1")
    harness.put(pod("p1", uid="another", capacity={"runs": 1}))


async def _recreate_run(harness: Harness) -> None:
    await harness.delete("Run", "a")
    harness.put(run("a", uid="another"))


async def _fill(harness: Harness) -> None:
    await harness.set_status("Run", "b", phase="Running", assignedPod="p1", assignedPodUID="ns/p1")


async def _join_a_group(harness: Harness) -> None:
    await harness.change("Run", "a", {"metadata": {"annotations": {"berth.dev/pod-group-name": "g"}}})


BETWEEN: list[tuple[str, Event, Reason]] = [
    ("not ready", lambda h: h.set_ready("p1", "False"), Reason.RESERVATION_CONFLICT),
    ("capacity down", lambda h: h.set_capacity("p1", runs=0), Reason.RESERVATION_CONFLICT),
    ("filled by a foreign writer", _fill, Reason.RESERVATION_CONFLICT),
    ("relabelled", lambda h: h.label("Pod", "p1", runtime="js"), Reason.UNKNOWN_RESERVATION),
    ("Pod gone", lambda h: h.delete("Pod", "p1"), Reason.UNKNOWN_RESERVATION),
    ("Pod replaced", _replace_pod, Reason.UNKNOWN_RESERVATION),
    ("Run gone", lambda h: h.delete("Run", "a"), Reason.UNKNOWN_RESERVATION),
    ("Run recreated", _recreate_run, Reason.UNKNOWN_RESERVATION),
    ("Run cancelled", lambda h: h.change("Run", "a", {"spec": {"cancelRequested": True}}), Reason.UNKNOWN_RESERVATION),
    ("Run terminal", lambda h: h.set_status("Run", "a", phase="Failed"), Reason.UNKNOWN_RESERVATION),
    ("next attempt", lambda h: h.set_status("Run", "a", attempt=2), Reason.UNKNOWN_RESERVATION),
    ("Run invalid", lambda h: h.change("Run", "a", {"spec": {"timeout": 5}}), Reason.NOT_ELIGIBLE),
    ("joined a group", _join_a_group, Reason.MEMBER_OF_GROUP),
]  # fmt: skip


@pytest.mark.parametrize(
    ("event", "want_reason"), [pytest.param(event, reason, id=name) for name, event, reason in BETWEEN]
)
async def test_second_look(event: Event, want_reason: Reason) -> None:
    """What happens between Reserve and Bind is found by Bind, which writes nothing and drops the reservation."""
    harness = await world()
    reservation = await harness.reserve("a")
    await event(harness)
    harness.pump()
    written = harness.store.written
    assert await reason_of(harness.bind(reservation.id)) is want_reason
    assert not harness.reservations
    assert harness.store.written == written
    check_same(harness)


class TestEcho:
    """The watch may show the assignment before its answer comes, after it, or never."""

    @pytest.mark.parametrize(
        "echo_first", [pytest.param(True, id="echo first"), pytest.param(False, id="answer first")]
    )
    async def test_counted_once_at_every_instant(self, echo_first: bool) -> None:  # noqa: FBT001
        """The slot is taken once before, between and after, and the reservation is handed over."""
        harness = await world(held=True)
        task = await binding(harness)
        (write,) = harness.store.writes
        await harness.store.land(write)
        steps: list[Callable[[], object]] = [harness.pump, lambda: harness.store.answer(write)]
        for step in steps if echo_first else reversed(steps):
            outcome = step()
            if isinstance(outcome, Awaitable):
                await outcome
            await harness.rest()
            assert dict(harness.core.state.occupancy.ledger.use("ns/p1")) == {"runs": 1}
            check_same(harness)
        await task
        assert not harness.reservations
        assert harness.metric("kruntimes_scheduler_sync_total", result="scheduled") == 1

    async def test_older_observations_tell_nothing(self) -> None:
        """Bound at a version: what the view shows below it does not end the reservation."""
        harness = await world()
        reservation = await harness.reserve("a")
        await harness.label("Run", "a", touched="yes")
        (label,) = harness.waiting("Run")
        harness.pump()
        await harness.bind(reservation.id)
        harness.core.ingest.apply(label)
        assert [each.state for each in harness.reservations] == [State.BOUND]

    @pytest.mark.parametrize(
        ("after_the_gap", "want_free"),
        [
            pytest.param(lambda h: h.rest(), False, id="still there"),
            pytest.param(lambda h: h.set_status("Run", "a", phase="Succeeded"), True, id="succeeded"),
            pytest.param(lambda h: h.delete("Run", "a"), True, id="missing"),
            pytest.param(
                lambda h: h.set_status("Run", "a", assignedPod="p2", assignedPodUID="ns/p2"), True, id="elsewhere"
            ),
        ],
    )
    async def test_never_confirmed(self, after_the_gap: Event, want_free: bool) -> None:  # noqa: FBT001
        """No time frees what was bound and not seen; a list settles it in the same pass."""
        harness = await world(pod("p2", runtime="js"))
        reservation = await harness.reserve("a")
        await harness.bind(reservation.id)
        harness.skip("Run")
        for _ in range(60):
            await harness.advance(60.0)
            assert [each.state for each in harness.reservations] == [State.BOUND]
        assert isinstance(await harness.plan("b"), Unschedulable)
        await after_the_gap(harness)
        await harness.relist("Run")
        assert not harness.reservations
        assert isinstance(await harness.plan("b"), Reserved if want_free else Unschedulable)


UNCONFIRMED: list[tuple[str, bool, Event, State | None, bool]] = [
    ("landed, seen", True, lambda h: h.rest(), None, True),
    ("not landed, nothing seen", False, lambda h: h.rest(), State.UNCONFIRMED, False),
    ("not landed, touched", False, lambda h: h.label("Run", "a", touched="yes"), None, False),
    ("not landed, gone", False, lambda h: h.delete("Run", "a"), None, False),
    ("not landed, recreated", False, _recreate_run, None, False),
    ("not landed, terminal", False, lambda h: h.set_status("Run", "a", phase="Failed"), None, False),
    ("landed, then finished", True, lambda h: h.set_status("Run", "a", phase="Succeeded"), None, True),
]


@pytest.mark.parametrize(
    ("landed", "event", "want_state", "want_counted"), [pytest.param(*rest, id=name) for name, *rest in UNCONFIRMED]
)
async def test_unconfirmed(landed: bool, event: Event, want_state: State | None, want_counted: bool) -> None:  # noqa: FBT001
    """A write of unknown outcome is settled by what is seen above its version, and by nothing else."""
    harness = await world(held=True)
    bounds, task = Bounds(harness), await binding(harness)
    (write,) = harness.store.writes
    if landed:
        await harness.store.land(write)
    harness.store.lose(write)
    assert await reason_of(task) is Reason.BIND_IN_PROGRESS
    await event(harness)
    harness.pump()
    await harness.advance(3600.0)
    assert [each.state for each in harness.reservations] == ([want_state] if want_state else [])
    scheduled = harness.metric("kruntimes_scheduler_sync_total", result="scheduled")
    assert scheduled == want_counted
    bounds.check(harness)
    check_same(harness)


async def test_unconfirmed_below_what_the_writer_knows() -> None:
    """Our own message went out after the view: its echo tells nothing of the bind, which was written on top of it."""
    harness = await world(held=True)
    bounds = Bounds(harness)
    item = harness.item("a")
    harness.service.reporter.waits(item, "0/1 runtime pods: 1 StaleHeartbeat")
    harness.service.reporter.tick()
    await harness.rest()
    await harness.store.answer(harness.store.writes[0])
    task = await binding(harness)
    (write,) = harness.store.writes
    assert write.version > item.version
    harness.store.lose(write)
    assert await reason_of(task) is Reason.BIND_IN_PROGRESS
    harness.pump()
    assert [each.state for each in harness.reservations] == [State.UNCONFIRMED]
    assert isinstance(await harness.plan("b", dry_run=True), Unschedulable)
    await harness.store.land(write)
    bounds.check(harness)
    harness.pump()
    assert not harness.reservations
    check_same(harness)


async def test_unknown_by_a_bug_on_the_way() -> None:
    """An exception after the write may have been sent keeps the room, as a time-out does."""
    harness = await world()
    reservation = await harness.reserve("a")
    harness.store.failures = [TypeError("bug")]
    assert await reason_of(harness.bind(reservation.id)) is Reason.BIND_IN_PROGRESS
    assert [each.state for each in harness.reservations] == [State.UNCONFIRMED]


async def test_a_retry_is_not_planned_twice() -> None:
    """A Run whose bind is not yet seen keeps its reservation when it is planned again (S03)."""
    harness = await world()
    reservation = await harness.reserve("a")
    await harness.bind(reservation.id)
    version = harness.api.version
    for _ in range(3):
        result = await harness.plan("a")
        assert getattr(result, "reservation", None) is not None
        assert (await harness.bind(reservation.id)).outcome is BindOutcome.ALREADY_BOUND
        assert isinstance(await harness.plan("b"), Unschedulable)
    assert harness.api.version == version
    assert not isinstance(await harness.plan("b", dry_run=True), Fits)


async def test_lost_connection_answers_bind_in_progress() -> None:
    """The caller hears that the write is being followed, and what to do."""
    harness = await world()
    reservation = await harness.reserve("a")
    harness.store.failures = [OutcomeUnknownError("connection reset")]
    with pytest.raises(PlacementError, match="call Bind again to follow it") as caught:
        await harness.bind(reservation.id)
    assert caught.value.metadata == {"state": "UNCONFIRMED"}


async def test_the_second_look_uses_the_profile_that_reserved() -> None:
    """What a lenient profile reserved is not rejected at bind by a filter that only the default one has."""
    lenient = build("lenient", [PluginConfig("ExistingRunAntiAffinity", enabled=False)], REGISTRY)
    first = pod()
    shy = run("shy", on=first, affinity=avoids(term(app="web")))
    harness = await Harness(first, shy, run("web", labels={"app": "web"})).start()
    harness.core.reader.engines["lenient"] = Engine(lenient)  # type: ignore[index]  # a dict behind a Mapping
    reserved = await harness.plan("web", read=ReadOptions(profile="lenient"))
    assert isinstance(reserved, Reserved)
    assert (await harness.bind(reserved.reservation.id)).outcome is BindOutcome.BOUND
