"""Placement as a whole: the one implementation of `ports.Service`, and how it is put together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from berth_server.framework.engine import Engine
from berth_server.objects.clock import Clock
from berth_server.observability.metrics import Metrics
from berth_server.observability.tracing import NoTracer, Tracer
from berth_server.placement import answers
from berth_server.placement.bind import Binder
from berth_server.placement.brakes import Brakes
from berth_server.placement.core import Core
from berth_server.placement.diagnosis import NO_RUNTIME_PODS
from berth_server.placement.ingest import Ingest, Log
from berth_server.placement.inspect import Inspector
from berth_server.placement.plan import Planner
from berth_server.placement.ports import NoEvents, Recorder, Store, Writer
from berth_server.placement.questions import (
    BindQuestion,
    FilterQuestion,
    PlanQuestion,
    ReleaseQuestion,
    ReserveQuestion,
    ScoreQuestion,
)
from berth_server.placement.read import Identity, Reader
from berth_server.placement.reporter import Reporter
from berth_server.placement.reserve import Reserver
from berth_server.placement.settle import Settler
from berth_server.placement.work import Work
from berth_server.queue.backoff import Jitter
from berth_server.queue.events import ADDED
from berth_server.queue.pending import PendingQueue
from berth_server.state.cluster import ClusterState
from berth_server.state.reservations import End, Reservation, Reservations, State


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What placement is given from outside. `standing_at`: where the clock of a cluster from files stands still."""

    store: Store
    writer: Writer
    engines: Mapping[str, Engine]
    clock: Clock
    metrics: Metrics
    log: Log
    jitter: Jitter
    instance: str
    leader: bool = True
    standing_at: int | None = None
    as_of: datetime | None = None
    recorder: Recorder = field(default_factory=NoEvents)
    tracer: Tracer = field(default_factory=NoTracer)


class PlacementService:
    """Implements `ports.Service`. Belongs to one event loop; every decision is one synchronous step."""

    def __init__(self, given: Surroundings) -> None:
        state = ClusterState(given.standing_at)
        ingest = Ingest(given.store, state, given.clock, given.log)
        cures = {reason: cure for engine in given.engines.values() for reason, cure in engine.profile.cures.items()}
        reservations = Reservations(state, self._reservation_ended)
        self.core = Core(
            state=state,
            ingest=ingest,
            reader=Reader(ingest, given.engines, given.clock, Identity(given.instance, leader=given.leader)),
            reservations=reservations,
            store=given.store,
            writer=given.writer,
            clock=given.clock,
            metrics=given.metrics,
            log=given.log,
            queue=PendingQueue({**cures, NO_RUNTIME_PODS: frozenset({ADDED})}, given.jitter),
            brakes=Brakes(reservations, given.clock),
            recorder=given.recorder,
            tracer=given.tracer,
        )
        self.reporter = Reporter(self.core)
        self.work = Work(self.core, self.reporter)
        self.inspector = Inspector(self.core, self.work, given.as_of)
        self._planner = Planner(self.core)
        self._reserver = Reserver(self.core, self._planner)
        self.settler = Settler(self.core, given.jitter, self._bind_landed)
        self._binder = Binder(self.core, self._reserver, self.settler.take)

    async def start(self) -> None:
        """Read the whole cluster, then follow it."""
        await self.core.ingest.start()

    async def drain(self) -> None:
        """Wait until no write is in flight. Nothing is cut off."""
        await self._binder.drain()
        await self.reporter.drain()

    async def follow(self) -> None:
        """Wait while the cluster is followed. Raises the bug that ended it."""
        await self.core.ingest.follow()

    async def stop(self) -> None:
        """Stop following the cluster."""
        await self.core.ingest.stop()

    async def filter(self, question: FilterQuestion) -> answers.FilterAnswer:
        """See ports.Service."""
        return await self.core.reader.filter(question)

    async def score(self, question: ScoreQuestion) -> answers.ScoreAnswer:
        """See ports.Service."""
        return await self.core.reader.score(question)

    async def plan(self, question: PlanQuestion) -> answers.PlanAnswer:
        """See ports.Service."""
        self.core.reader.lead()
        return await self._planner.plan(question)

    async def plan_batch(
        self, batch: Sequence[PlanQuestion | answers.Failure]
    ) -> Sequence[answers.PlanAnswer | answers.Failure]:
        """See ports.Service."""
        self.core.reader.lead()
        return await self._planner.plan_batch(batch)

    async def reserve(self, question: ReserveQuestion) -> answers.ReserveAnswer:
        """See ports.Service."""
        self.core.reader.lead()
        return await self._reserver.reserve(question)

    async def release(self, question: ReleaseQuestion) -> bool:
        """See ports.Service."""
        self.core.reader.lead()
        return await self._reserver.release(question)

    async def bind(self, question: BindQuestion) -> answers.BindAnswer:
        """See ports.Service."""
        self.core.reader.lead()
        return await self._binder.bind(question)

    async def pop(self, *, max_items: int, wait: float) -> Sequence[answers.PoppedItem]:
        """See ports.Service."""
        self.core.reader.lead()
        return await self.work.pop(max_items=max_items, wait=wait)

    async def done(self, attempt_id: str) -> None:
        """See ports.Service."""
        self.core.reader.lead()
        await self.work.done(attempt_id)

    def _bind_landed(self, reservation: Reservation) -> None:
        self._binder.count_scheduled(reservation)

    def _reservation_ended(self, reservation: Reservation, end: End) -> None:
        if end is End.HANDED_OVER and reservation.state is State.UNCONFIRMED:
            self._binder.count_scheduled(reservation)
        self.work.reservation_ended(reservation, end)
