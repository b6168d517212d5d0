"""The whole placement service over an embedded API, step by step: no sleeps, no wall clock, nothing comes by itself.

The test says when an event of the API reaches the view, when a write lands and is answered, and when time passes. So
"the API has changed and the view has not" is a state that a test can stand still in.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry

from berth_server.driver.loop import OWNER, Driver
from berth_server.framework.engine import Engine
from berth_server.framework.profile import build
from berth_server.kube.embedded import EmbeddedStore
from berth_server.kube.mergepatch import merge_patch
from berth_server.kube.writer import StatusWriter
from berth_server.objects.decode import decode
from berth_server.objects.item import Item
from berth_server.objects.resources import RUNTIMED_READY
from berth_server.observability.metrics import Metrics
from berth_server.observability.tracing import NoTracer, Tracer
from berth_server.placement import answers
from berth_server.placement.ingest import KINDS
from berth_server.placement.ports import EventType, ObjectRef, WatchEvent
from berth_server.placement.questions import BindQuestion, CandidateRef, ExistingRun, PlanQuestion, ReserveQuestion
from berth_server.placement.service import PlacementService, Surroundings
from berth_server.placement.translate import instant
from berth_server.plugins import REGISTRY
from berth_server.state.reservations import Reservation
from tests.builders import NOW
from tests.fakes.clock import FakeClock
from tests.fakes.gated_store import GatedStore
from tests.fakes.log import NullLog
from tests.listing import listed

if TYPE_CHECKING:
    from berth_server.objects.resources import Resource

Json = dict[str, Any]
Named = tuple[str, str]
_TURNS: Final = 16
"""Turns of the loop in which what was woken comes to rest: more than any chain of awaits in the service is long."""
_MOST_STEPS: Final = 1000
"""A queue that is not quiet after so many batches is one that spins."""
PROFILE: Final = build("default", (), REGISTRY)


def new_metrics() -> Metrics:
    """Return metrics at zero. Worlds by the thousand share one: making it costs more than a world."""
    return Metrics(CollectorRegistry(), rejections=PROFILE.reasons)


class Harness:
    """One service, its API, and the hand on everything that moves between them.

    `standing`: the clock that judges heartbeats stands still, so only holds, leases and backoffs run. `held`: writes
    wait for the test. `seen`: kind -> (namespace, name) -> the object as the view was last told of it.
    """

    def __init__(
        self,
        *objects: Json,
        held: bool = False,
        standing: bool = True,
        standing_at: int = NOW,
        engine: Engine | None = None,
        wall: int = NOW,
        tracer: Tracer | None = None,
        metrics: Metrics | None = None,
        leader: bool = True,
    ) -> None:
        self.clock = FakeClock(wall=wall)
        self.api = EmbeddedStore(now=lambda: instant(self.clock.wall()))
        self.api.load(objects)
        self.store = GatedStore(self.api, held=held)
        self.metrics = metrics or new_metrics()
        self.log = NullLog()
        self.standing_at = standing_at if standing else None
        self.writer = StatusWriter(self.store, lambda: instant(self.clock.wall()))
        self.service = PlacementService(
            Surroundings(
                store=self.store,
                writer=self.writer,
                engines={"default": engine or Engine(PROFILE)},
                clock=self.clock,
                metrics=self.metrics,
                log=self.log,
                jitter=lambda: 0.0,
                instance="test",
                leader=leader,
                standing_at=self.standing_at,
                tracer=tracer or NoTracer(),
            )
        )
        self.core = self.service.core
        self.driver = Driver(self.service, self.log)
        self.seen: dict[str, dict[Named, Resource]] = {kind: {} for kind in KINDS}
        self._told: dict[str, int] = {}

    async def start(self) -> "Harness":
        """Read the whole cluster, as the service does, but follow nothing."""
        for kind in KINDS:
            await self.relist(kind)
        return self

    # --- from the API to the view ------------------------------------------------------------------------------

    def waiting(self, kind: str) -> list[WatchEvent]:
        """Return the events that the view has not been told."""
        history = self.api._history(kind)
        place, found = history.place_after(self._told[kind]), []
        while (change := history.at(place)) is not None:
            found.append(WatchEvent(change.type, kind, change.version, decode(kind, change.json)))
            place += 1
        return found

    def pump(self, *kinds: str, count: int | None = None) -> int:
        """Tell the view what has happened, oldest first, of these kinds (all), at most `count` events."""
        events = sorted((event for kind in kinds or KINDS for event in self.waiting(kind)), key=lambda e: e.version)
        for event in events[:count]:
            self._told[event.kind] = event.version
            self._note(event)
            self.core.ingest.apply(event)
        return len(events[:count])

    def skip(self, kind: str) -> None:
        """Lose the events of a kind that the view has not been told, as a watch that broke does."""
        for event in self.waiting(kind):
            self._told[event.kind] = event.version

    async def relist(self, kind: str) -> None:
        """Show the view all that there is of a kind."""
        listing = await listed(self.store, kind)
        self._told[kind] = listing.version
        self.seen[kind] = {(each.metadata.namespace, each.metadata.name): each for each in listing.resources}
        self.core.ingest.replace(listing)

    def _note(self, event: WatchEvent) -> None:
        assert event.resource is not None
        key = (event.resource.metadata.namespace, event.resource.metadata.name)
        if event.type is EventType.DELETED:
            self.seen[event.kind].pop(key, None)
        else:
            self.seen[event.kind][key] = event.resource

    # --- what others do to the API -----------------------------------------------------------------------------

    def ref(self, kind: str, name: str, namespace: str = "ns") -> ObjectRef:
        """Name an object."""
        return ObjectRef(kind, namespace, name)

    def put(self, thing: Json) -> None:
        """Create an object whole, with its status and uid, as nobody but a test can."""
        self.api.load([thing])

    async def delete(self, kind: str, name: str, namespace: str = "ns") -> None:
        """Delete an object."""
        await self.api.delete(self.ref(kind, name, namespace))

    async def set_status(self, kind: str, name: str, namespace: str = "ns", **status: Any) -> None:
        """Write a status as another component does, whatever the version is."""
        raw = self.api.get(self.ref(kind, name, namespace))
        version = int(raw["metadata"]["resourceVersion"])
        await self.api.patch_status(self.ref(kind, name, namespace), status, version=version)

    async def change(self, kind: str, name: str, change: Mapping[str, Any], namespace: str = "ns") -> None:
        """Merge `change` (RFC 7386) into everything but the status."""
        await self.api.update(merge_patch(self.api.get(self.ref(kind, name, namespace)), change))

    async def label(self, kind: str, name: str, namespace: str = "ns", **labels: str) -> None:
        """Set labels."""
        await self.change(kind, name, {"metadata": {"labels": labels}}, namespace)

    async def set_capacity(self, name: str, namespace: str = "ns", /, **capacity: object) -> None:
        """Advertise another capacity on a Pod."""
        annotations = {f"kruntimes.io/capacity.{resource}": str(units) for resource, units in capacity.items()}
        await self.change("Pod", name, {"metadata": {"annotations": annotations}}, namespace)

    async def set_ready(self, name: str, ready: str = "True", namespace: str = "ns", stamp: str | None = None) -> None:
        """Write the conditions of a Pod: ready or not, and its heartbeat."""
        raw = self.api.get(self.ref("Pod", name, namespace))
        conditions = (raw.get("status") or {}).get("conditions") or []
        for condition in conditions:
            if condition["type"] == "Ready":
                condition["status"] = ready
            elif stamp is not None and condition["type"] == RUNTIMED_READY:
                condition["lastProbeTime"] = stamp
        await self.set_status("Pod", name, namespace, conditions=conditions)

    # --- time and tasks ----------------------------------------------------------------------------------------

    async def rest(self) -> None:
        """Let every task run until it waits for something that the test decides."""
        for _ in range(_TURNS):
            await asyncio.sleep(0)

    async def advance(self, seconds: float) -> None:
        """Let time pass, and everything happen that is due by then."""
        self.clock.advance(seconds)
        self.service.work.let_time_pass()
        await self.rest()

    async def drive(self, *, steps: int = _MOST_STEPS) -> int:
        """Drive, telling the view everything in between, until the queue is quiet; return how many keys were taken."""
        taken = 0
        for _ in range(steps):
            count = await self.driver.step(wait=0)
            taken += count
            await self.driver.settle()
            await self.service.drain()
            if not self.pump() and not count:
                return taken
        raise AssertionError(f"the queue is not quiet after {steps} batches")

    # --- what a test looks at ----------------------------------------------------------------------------------

    def item(self, name: str, namespace: str = "ns") -> Item:
        """Return a Run as the view has it."""
        return self.core.state.items[self.core.state.item_uids[namespace, name]]

    def run(self, name: str, namespace: str = "ns") -> ExistingRun:
        """Name a Run as the view has it, with its UID."""
        return ExistingRun(namespace, name, self.item(name, namespace).uid)

    def pod(self, name: str, namespace: str = "ns") -> CandidateRef:
        """Name a Runtime Pod as the view has it, with its UID."""
        return CandidateRef(name, self.core.state.candidate_uids[namespace, name])

    def status(self, name: str, namespace: str = "ns") -> Json:
        """Return the status of a Run as the API has it."""
        status: Json | None = self.api.get(self.ref("Run", name, namespace)).get("status")
        return status or {}

    def placements(self) -> dict[str, str]:
        """Return Run UID -> Pod UID of all that is assigned, as the API has it."""
        found = {}
        for stored in self.api._objects.get("Run", {}).values():
            status = json.loads(stored.json).get("status") or {}
            if status.get("phase") in {"Scheduled", "Running", "Ready"}:
                found[stored.uid] = status.get("assignedPodUID") or ""
        return found

    @property
    def reservations(self) -> list[Reservation]:
        """All reservations, oldest first."""
        return list(self.core.reservations)

    def metric(self, name: str, **labels: str) -> float:
        """Return the value of a series, 0 if there is none."""
        return self.metrics._registry.get_sample_value(name, labels) or 0.0

    # --- questions ---------------------------------------------------------------------------------------------

    async def plan(self, name: str, *, owner: str = OWNER, namespace: str = "ns", **more: Any) -> answers.PlanResult:
        """Plan a Run and return the result."""
        return (await self.service.plan(PlanQuestion(self.run(name, namespace), owner, **more))).result

    async def reserve(
        self, name: str, pod: str = "p1", *, owner: str = OWNER, namespace: str = "ns", **more: Any
    ) -> answers.ReservationInfo:
        """Reserve room for a Run on a Pod."""
        question = ReserveQuestion(self.run(name, namespace), self.pod(pod, namespace), owner, **more)
        return (await self.service.reserve(question)).reservation

    async def bind(self, reservation_id: str, *, owner: str = OWNER, **more: Any) -> answers.BindAnswer:
        """Bind a reservation."""
        return await self.service.bind(BindQuestion(reservation_id, owner, **more))
