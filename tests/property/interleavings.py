"""A small model of everything that can happen around a bind, one step at a time, and a search through all orders of it.

A step is one thing that one party does: a caller reserves, binds or releases, a write lands or is answered, the view is
told one event, time passes, somebody else changes the API. The search replays paths on fresh worlds and goes on only
from states that it has not met, so it tries every order without trying every path.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, Final

import msgspec

from berth_server.framework.engine import Engine
from berth_server.placement.answers import AlreadyReserved, Reserved
from berth_server.placement.failures import PlacementError, Reason
from berth_server.placement.ports import RefusedError
from berth_server.placement.questions import BindQuestion, PlanQuestion, ReleaseQuestion
from berth_server.state.reservations import State
from tests.builders import pod, run
from tests.harness import PROFILE, Harness, new_metrics
from tests.invariants import Bounds, check_judged, check_nothing_left, check_one, check_same, misses

Step = Callable[[], Awaitable[object]]
_ENGINE: Final = Engine(PROFILE)
_METRICS: Final = new_metrics()
ONE_RUN: Final = ("a",)
TWO_RUNS: Final = ("a", "b")
HOPELESS: Final = {Reason.INTERNAL}
"""What no caller may ever hear, whatever the others do."""


@dataclass
class Caller:
    """One who reserves and binds. `attempts`: Run name -> attempt id, if it takes its work from the queue."""

    owner: str
    reserved: dict[str, str] = field(default_factory=dict)
    attempts: dict[str, str] = field(default_factory=dict)
    calls: dict[str, asyncio.Task[None]] = field(default_factory=dict)


class Model:
    """One world on its way. `left`: how often each change of the API may still happen."""

    def __init__(self, runs: Sequence[str], owners: Sequence[str], changes: Sequence[str]) -> None:
        self.runs = runs
        objects = [run(name) for name in runs]
        self.harness = Harness(*objects, pod("p1", capacity={"runs": 1}), held=True, engine=_ENGINE, metrics=_METRICS)
        self.callers = [Caller(owner) for owner in owners]
        self.left = {change: changes.count(change) for change in changes}
        self.heard: list[PlacementError] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.waited = 0
        self.made = 0

    async def start(self) -> "Model":
        """Show the world to the service."""
        await self.harness.start()
        self.bounds = Bounds(self.harness)
        return self

    # --- what can be done now ----------------------------------------------------------------------------------

    def steps(self) -> Iterator[tuple[str, Step]]:
        """Yield every step that something can come of, by a name that is unique here."""
        for caller in self.callers:
            yield from self._steps_of(caller)
        store = self.harness.store
        for write in store.writes[:2]:
            what = f"of {write.ref.name} by {write.status.get('phase')}"
            if write.landed is None:
                yield f"land write {what}", partial(store.land, write)
                yield f"refuse write {what}", partial(_at_once, store.refuse, write, _forbidden())
            yield f"answer write {what}", partial(store.answer, write)
            yield f"lose write {what}", partial(_at_once, store.lose, write)
        for write in store.late[:1]:
            yield f"late write of {write.ref.name} lands", partial(store.land, write)
        for kind in ("Run", "Pod"):
            if self.harness.waiting(kind):
                yield f"tell of a {kind}", partial(_at_once, self.harness.pump, kind, count=1)
        if self.waited < 2 and (self.harness.reservations or self.harness.core.attempts):
            yield "31 s pass", self.wait
        for change, times in self.left.items():
            if times:
                yield change, partial(self.change, change)

    def _steps_of(self, caller: Caller) -> Iterator[tuple[str, Step]]:
        by_queue = caller.owner == "driver"
        for name in self.runs:
            known = ("ns", name) in self.harness.core.state.item_uids
            if by_queue and name in caller.attempts and name not in caller.calls:
                yield f"driver binds {name}", partial(self.bind, caller, name)
                yield f"driver is done with {name}", partial(self.done, caller, name)
            elif not by_queue and known and name not in caller.reserved:
                yield f"{caller.owner} reserves {name}", partial(self.reserve, caller, name)
            elif not by_queue and name in caller.reserved and name not in caller.calls:
                yield f"{caller.owner} binds {name}", partial(self.bind, caller, name)
                yield f"{caller.owner} releases {name}", partial(self.release, caller, name)
        if by_queue and self.harness.core.queue.ready(self.harness.clock.monotonic()):
            yield "driver plans", partial(self.plan, caller)

    # --- callers -----------------------------------------------------------------------------------------------

    async def plan(self, caller: Caller) -> None:
        """Take one key and plan it, as the driver does, up to the bind."""
        service = self.harness.service
        for popped in await service.pop(max_items=1, wait=0):
            name = popped.item.name
            question = PlanQuestion(popped.item, caller.owner, attempt_id=popped.attempt_id)
            result: object = None
            try:
                result = (await service.plan(question)).result
            except PlacementError as error:
                self.heard.append(error)
            caller.calls.pop(name, None)
            caller.attempts[name] = popped.attempt_id
            if isinstance(result, (Reserved, AlreadyReserved)):
                caller.reserved[name] = result.reservation.id
            else:
                await self.done(caller, name)

    async def done(self, caller: Caller, name: str) -> None:
        """End an attempt, bound or not."""
        caller.reserved.pop(name, None)
        caller.calls.pop(name, None)
        _ = self._begin(self.harness.service.done(caller.attempts.pop(name)))

    async def reserve(self, caller: Caller, name: str) -> None:
        """Reserve p1 by name, as the view has it."""
        if ("ns", "p1") in self.harness.core.state.candidate_uids:
            try:
                caller.reserved[name] = (await self.harness.reserve(name, owner=caller.owner)).id
            except PlacementError as error:
                self.heard.append(error)

    async def bind(self, caller: Caller, name: str) -> None:
        """Begin to bind; what comes of it is heard later."""
        caller.calls[name] = self._begin(self._bind(caller, name, caller.reserved[name], caller.attempts.get(name, "")))

    async def _bind(self, caller: Caller, name: str, reservation_id: str, attempt_id: str) -> None:
        await self._hear(self.harness.service.bind(BindQuestion(reservation_id, caller.owner, attempt_id)))
        if caller.calls.get(name) is asyncio.current_task():
            del caller.calls[name], caller.reserved[name]
            caller.attempts.pop(name, None)
        if attempt_id:
            await self.harness.service.done(attempt_id)

    async def release(self, caller: Caller, name: str) -> None:
        """Give back what is held."""
        _ = self._begin(self.harness.service.release(ReleaseQuestion(caller.reserved.pop(name), caller.owner)))

    async def wait(self) -> None:
        """Let holds and backoffs end; twice: the lease of an attempt."""
        self.waited += 1
        await self.harness.advance(31.0)

    def _begin(self, call: Awaitable[object]) -> asyncio.Task[None]:
        """Call in a task: it may have to write, and a write waits for a step of its own."""
        task = asyncio.create_task(self._hear(call))
        self.tasks.append(task)
        return task

    async def _hear(self, call: Awaitable[object]) -> None:
        try:
            await call
        except PlacementError as error:
            self.heard.append(error)

    # --- the others --------------------------------------------------------------------------------------------

    async def change(self, change: str) -> None:
        """Let somebody else change the API; a change of what is not there changes nothing."""
        self.left[change] -= 1
        harness = self.harness
        there = harness.api._objects.get("Pod" if "Pod" in change or "capacity" in change else "Run", {})
        if ("ns", "p1" if "Pod" in change or "capacity" in change else "a") in there:
            await CHANGES[change](self)

    def another(self, what: str) -> str:
        """Return a UID that is new."""
        self.made += 1
        return f"{what}#{self.made}"

    # --- after each step ---------------------------------------------------------------------------------------

    async def do(self, step: Step) -> None:
        """Take a step and check everything that must hold."""
        await step()
        await self.harness.rest()
        self.bounds.check(self.harness)
        check_one(self.harness)
        check_same(self.harness)
        check_judged(self.harness)
        bad = [error.message for error in self.heard if error.reason in HOPELESS]
        assert not bad, bad
        assert not self.harness.log.lines or all("bug" not in line for line, _ in self.harness.log.lines)

    async def settle(self) -> None:
        """Let everything come to its end: nobody waits in vain, and once the Runs are gone nothing is left."""
        harness = self.harness
        harness.store.held = False
        await self._let_writes_end()
        await harness.advance(121.0)
        for caller in self.callers:
            for name in list(caller.attempts):
                await self.done(caller, name)
        await harness.rest()
        harness.pump()
        await harness.advance(1.0)
        await harness.drive(steps=60)
        assert not misses(harness)
        unknown = {each.item.uid for each in harness.reservations if each.state is State.UNCONFIRMED}
        assert {each.item.uid for each in harness.reservations} <= unknown
        for task in self.tasks:
            task.result()
        for _, name in list(harness.api._objects.get("Run", {})):
            await harness.delete("Run", name)
        harness.pump()
        await harness.rest()
        self.bounds.check(harness)
        check_one(harness)
        check_same(harness)
        check_nothing_left(harness)

    async def abandon(self) -> None:
        """Leave the world as it is."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _let_writes_end(self) -> None:
        store = self.harness.store
        while store.writes:
            await store.answer(store.writes[0])
            await self.harness.rest()
        while store.late:
            await store.land(store.late[0])

    def key(self) -> object:
        """Return what tells this state from others: equal keys have equal futures."""
        harness, core = self.harness, self.harness.core
        now = harness.clock.monotonic()
        versions = self._ranks()
        rank = versions.__getitem__
        return (
            [(name, stored.uid, rank(stored.version), _state_of(stored.json)) for name, stored in self._stored()],
            [
                (each.type, each.kind, _state_of_resource(each))
                for kind in ("Run", "Pod")
                for each in harness.waiting(kind)
            ],
            sorted(
                (item.uid, rank(item.version), item.phase, item.assigned_uid, item.attempt)
                for item in core.state.items.values()
            ),
            sorted((each.uid, each.pool, each.ready, str(each.capacity)) for each in core.state.candidates.values()),
            [
                (
                    each.item.uid,
                    each.candidate.uid,
                    each.owner,
                    each.state,
                    rank(each.version),
                    each.item.attempt,
                    rank(each.newest.version) if each.newest else -1,
                    each.held_until - now if each.state is State.HELD else 0,
                    self._attempt(each.attempt_id),
                )
                for each in core.reservations
            ],
            [
                (each.key.uid, each.state, each.attempts, each.errors, each.reasons, _due(each.not_before, now))
                for each in core.queue.rows()
            ],
            [(entry.key.uid, entry.activated, entry.reset) for entry in core.queue._places.in_flight.values()],
            sorted((each.uid, each.verdict.value, each.lease_until - now) for each in core.attempts),
            [(write.ref.uid, rank(write.version), write.landed is None) for write in harness.store.writes],
            [(write.ref.uid, rank(write.version)) for write in harness.store.late],
            [(sorted(each.reserved), sorted(each.attempts), sorted(each.calls)) for each in self.callers],
            sorted(self.left.items()),
            self.waited,
        )

    def _stored(self) -> Iterator[tuple[str, Any]]:
        for kind in ("Run", "Pod"):
            for (_, name), stored in sorted(self.harness.api._objects.get(kind, {}).items()):
                yield name, stored

    def _ranks(self) -> dict[int, int]:
        core, store = self.harness.core, self.harness.store
        versions = {0}
        versions.update(stored.version for _, stored in self._stored())
        versions.update(item.version for item in core.state.items.values())
        for each in core.reservations:
            versions.add(each.version)
            if each.newest is not None:
                versions.add(each.newest.version)
        versions.update(write.version for write in (*store.writes, *store.late))
        return {version: rank for rank, version in enumerate(sorted(versions))}

    def _attempt(self, attempt_id: str) -> str:
        attempt = self.harness.core.attempts.find(attempt_id)
        return "" if attempt is None else attempt.uid


def _due(not_before: float | None, now: float) -> float:
    return -1.0 if not_before is None else round(not_before - now, 3)


def _state_of(json: bytes) -> object:
    raw = msgspec.json.decode(json)
    status = raw.get("status", {})
    return str(
        (
            raw["metadata"].get("labels"),
            raw["metadata"].get("annotations"),
            raw["spec"],
            status.get("phase"),
            status.get("attempt"),
            status.get("assignedPodUID"),
            status.get("message") if raw["kind"] == "Run" else status,
        )
    )


def _state_of_resource(event: Any) -> object:
    resource = event.resource
    status = resource.status
    return (
        resource.metadata.uid,
        str(resource.metadata.labels),
        str(resource.metadata.annotations),
        getattr(status, "phase", None),
        getattr(status, "attempt", None),
        getattr(status, "assigned_pod_uid", None),
    )


def _forbidden() -> RefusedError:
    return RefusedError("runs.kruntimes.io is forbidden", code=403, reason="Forbidden")


async def _at_once(call: Callable[..., object], *arguments: Any, **more: Any) -> object:
    return call(*arguments, **more)


async def _recreate_run(model: Model) -> None:
    await model.harness.delete("Run", "a")
    model.harness.put(run("a", uid=model.another("a")))


async def _reset_run(model: Model) -> None:
    attempt = model.harness.status("a").get("attempt", 1) + 1
    await model.harness.set_status("Run", "a", phase="Pending", attempt=attempt, assignedPod=None, assignedPodUID=None)


async def _replace_pod(model: Model) -> None:
    await model.harness.delete("Pod", "p1")
    model.harness.put(pod("p1", uid=model.another("p1"), capacity={"runs": 1}))


CHANGES: Final[dict[str, Callable[[Model], Awaitable[object]]]] = {
    "Run a is deleted": lambda model: model.harness.delete("Run", "a"),
    "Run a is recreated": _recreate_run,
    "Run a is reset to the next attempt": _reset_run,
    "Run a is touched by others": lambda model: model.harness.label("Run", "a", touched=model.another("label")),
    "Run a is cancelled": lambda model: model.harness.change("Run", "a", {"spec": {"cancelRequested": True}}),
    "Run a succeeds": lambda model: model.harness.set_status("Run", "a", phase="Succeeded"),
    "Pod p1 is replaced": _replace_pod,
    "Pod p1 is not ready": lambda model: model.harness.set_ready("p1", "False"),
    "Pod p1 is relabelled": lambda model: model.harness.label("Pod", "p1", runtime="js"),
    "capacity of p1 goes down": lambda model: model.harness.set_capacity("p1", runs=0),
}


@dataclass
class Search:
    """All orders of what can happen in one small world. `most`: paths of at most so many steps; `states`: found."""

    runs: Sequence[str]
    owners: Sequence[str]
    changes: Sequence[str]
    most: int
    without: Sequence[str] = ()
    states: int = 0
    steps: int = 0

    async def go(self) -> None:
        """Search breadth first. An assertion that fails carries the path to it."""
        seen: set[str] = set()
        paths: deque[tuple[str, ...]] = deque()
        await self._visit((), seen, paths)
        while paths:
            path = paths.popleft()
            if len(path) <= self.most:
                await self._visit(path, seen, paths)

    async def _visit(self, path: tuple[str, ...], seen: set[str], paths: deque[tuple[str, ...]]) -> None:
        """Go a path; if it leads to a new state, note where one can go from there, and let it end."""
        self.steps += 1
        model = await Model(self.runs, self.owners, self.changes).start()
        try:
            for name in path[:-1]:
                await dict(model.steps())[name]()
                await model.harness.rest()
                model.bounds.learn(model.harness)
            if path:
                await model.do(dict(model.steps())[path[-1]])
            key = str(model.key())
            if key in seen:
                await model.abandon()
                return
            seen.add(key)
            self.states += 1
            paths.extend((*path, name) for name, _ in model.steps() if not name.startswith(tuple(self.without)))
            await model.settle()
        except AssertionError as error:
            raise AssertionError(f"{error}\nafter {list(path)}") from error


async def walk(rng: Random, length: int) -> list[str]:
    """Go one random way through a world in which everything can happen, checking after every step and at the end."""
    changes = [change for change in CHANGES for _ in range(2)]
    model = await Model(
        rng.choice((ONE_RUN, TWO_RUNS)), rng.choice((("driver",), ("driver", "client"))), changes
    ).start()
    path: list[str] = []
    try:
        for _ in range(length):
            steps = dict(model.steps())
            if not steps:
                break
            # Most steps are the protocol's own, or the world would be torn down before anything is bound.
            own = [name for name in steps if name not in CHANGES]
            path.append(rng.choice(own if own and rng.random() < 0.8 else list(steps)))
            await model.do(steps[path[-1]])
        await model.settle()
    except AssertionError as error:
        raise AssertionError(f"{error}\nafter {path}") from error
    return path
