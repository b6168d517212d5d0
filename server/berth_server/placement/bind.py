"""Bind: look again, send one write, and answer when its outcome is known.

The write belongs to a supervised task, never to the call that asked for it: a call that is cancelled or out of time
leaves the write to be settled, and the next call joins it. HELD becomes BINDING once, in one synchronous step.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from berth_server.objects.clock import SECOND
from berth_server.objects.item import Item
from berth_server.objects.resources import Pod, Run
from berth_server.placement import answers
from berth_server.placement.attempts import Attempt, Verdict
from berth_server.placement.core import Core
from berth_server.placement.described import check_owner, conflict, not_eligible
from berth_server.placement.eligibility import standing
from berth_server.placement.failures import PlacementError, Reason
from berth_server.placement.outgoing import outgoing
from berth_server.placement.ports import (
    ConflictError,
    KubeError,
    NotFoundError,
    ObjectRef,
    OutcomeUnknownError,
    RefusedError,
    ThrottledError,
)
from berth_server.placement.questions import BindQuestion, CandidateRef, ExistingRun, ReadOptions, ReserveQuestion
from berth_server.placement.read import rejection_at
from berth_server.placement.reserve import Reserver, stale_target
from berth_server.state.reservations import End, Reservation, State

MAX_BINDS_IN_FLIGHT: Final = 64
DEFAULT_HOLD_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class _Written:
    """The outcome of one write: the version that it made, or why nothing was written."""

    version: int
    failure: PlacementError | None = None


class Binder:
    """Turns reservations into assignments, at most 64 writes at once."""

    def __init__(self, core: Core, reserver: Reserver, unsettled: Callable[[Reservation], None]) -> None:
        """`unsettled` is told of every reservation whose write has an unknown outcome."""
        self._core = core
        self._reserver = reserver
        self._unsettled = unsettled
        self._room = asyncio.Semaphore(MAX_BINDS_IN_FLIGHT)
        self._writes: dict[str, asyncio.Task[_Written]] = {}

    async def bind(self, question: BindQuestion) -> answers.BindAnswer:
        """See ports.Service."""
        self._core.attempts.of(question.attempt_id)
        found = await self._target(question)
        if isinstance(found, answers.BindAnswer):
            return found
        check_owner(found, question.owner)
        attempt = self._core.attempts.of(question.attempt_id, found.item.uid)
        if attempt is not None:
            self._core.reservations.adopt(found, attempt.id)
        candidate = CandidateRef(found.candidate.name, found.candidate.uid)
        match found.state:
            case State.HELD:
                self._begin(found)
            case State.UNCONFIRMED:
                self._note(found, Verdict.RESERVED_BY_OTHER)
                raise _unconfirmed(found.item)
            case State.BOUND:
                self._note(found, Verdict.BOUND)
                return answers.BindAnswer(answers.BindOutcome.ALREADY_BOUND, candidate, found.version)
            case State.BINDING:
                pass
        # Shielded: the caller may go, the write is settled all the same.
        written = await asyncio.shield(self._writes[found.id])
        if written.failure is not None:
            raise written.failure
        return answers.BindAnswer(answers.BindOutcome.BOUND, candidate, written.version)

    async def drain(self) -> None:
        """Wait until no write is in flight."""
        while self._writes:
            await asyncio.wait(list(self._writes.values()))

    # --- what is bound --------------------------------------------------------------------------------------------

    async def _target(self, question: BindQuestion) -> Reservation | answers.BindAnswer:
        core = self._core
        if isinstance(question.what, str):
            core.reader.let_time_pass()
            reservation = core.reservations.get(question.what)
            if reservation is None:
                raise PlacementError(
                    Reason.UNKNOWN_RESERVATION,
                    f"there is no reservation {question.what}: it was released, has expired or ended. Plan again.",
                    metadata={"reservation_id": question.what},
                )
            return reservation
        run, candidate = question.what
        item = await core.reader.locate(run, ReadOptions(deadline=question.deadline))
        return self._by_item(item, run, candidate, question)

    def _by_item(
        self, item: Item, run: ExistingRun, candidate: CandidateRef, question: BindQuestion
    ) -> Reservation | answers.BindAnswer:
        core = self._core
        if item.holds_capacity and candidate.uid == core.state.occupancy.assigned_to(item):
            return answers.BindAnswer(answers.BindOutcome.ALREADY_BOUND, candidate, item.version)
        held = core.reservations.of_item(item.uid)
        if held is not None and held.owner == question.owner and held.candidate.uid == candidate.uid:
            return held
        take = ReserveQuestion(
            run, candidate, question.owner, hold=DEFAULT_HOLD_SECONDS, attempt_id=question.attempt_id
        )
        return self._reserver.take(core.reader.look(item), take)

    def _begin(self, reservation: Reservation) -> None:
        """Look again and send. Raises PlacementError or by a bug; then the room is given back."""
        try:
            self._look_again(reservation)
        except PlacementError:
            raise
        except Exception:
            self._note(reservation, Verdict.ERROR, "the second look failed by a bug")
            self._drop(reservation, End.REJECTED)
            raise
        self._send(reservation)

    def _look_again(self, reservation: Reservation) -> None:
        """Judge the reservation as if it were new. Raises PlacementError; then it is dropped."""
        core, uid, candidate = self._core, reservation.item.uid, reservation.candidate
        core.reader.let_time_pass()
        item = core.state.items.get(uid)
        if item is None or item.attempt != reservation.item.attempt:
            raise self._lost(reservation, End.ITEM_CHANGED, _stale_item(reservation.item))
        why = standing(item, wall=core.clock.wall(), monotonic=core.clock.monotonic())
        if why is not None:
            raise self._lost(reservation, End.ITEM_CHANGED, not_eligible(item, why))
        if reservation.judged == core.state.generation:
            # Nothing of what the filters look at has changed since they took it.
            return
        cycle = core.reader.look(item, reservation.profile)
        row = cycle.view.columns.row_of_uid.get(candidate.uid)
        if row is None:
            target = CandidateRef(candidate.name, candidate.uid)
            now = core.state.candidate_named(item.namespace, candidate.name)
            lost = stale_target(item, target, now.uid if now is not None and now.uid != candidate.uid else "")
            raise self._lost(reservation, End.CANDIDATE_GONE, lost)
        code = cycle.judge(row)
        if code:
            rejection = rejection_at(cycle, row, code)
            core.metrics.reservation_conflicts["bind"].inc()
            raise self._lost(reservation, End.REJECTED, conflict(item, candidate.name, rejection))

    def _lost(self, reservation: Reservation, end: End, error: PlacementError) -> PlacementError:
        self._note(reservation, Verdict.CONFLICT)
        self._drop(reservation, end)
        return error

    # --- the write ------------------------------------------------------------------------------------------------

    def _send(self, reservation: Reservation) -> None:
        core = self._core
        item = core.state.items[reservation.item.uid]
        core.reservations.send(reservation, item.version)
        task = asyncio.create_task(self._write(reservation, item), name=f"bind {item.uid}")
        self._writes[reservation.id] = task
        task.add_done_callback(lambda _: self._writes.pop(reservation.id, None))

    async def _write(self, reservation: Reservation, item: Item) -> _Written:
        core, candidate = self._core, reservation.candidate
        began = core.clock.monotonic()
        async with self._room:
            # The failures are told inside of the span, so that their log lines belong to it.
            with core.tracer.span("bind", default_parent=self._trace_of(reservation), run_uid=item.uid):
                try:
                    version = await core.writer.assign(outgoing(item), candidate.name, candidate.uid)
                except OutcomeUnknownError as error:
                    return self._unknown(reservation, error)
                except KubeError as error:
                    return self._refused(reservation, error)
                except Exception as error:
                    # A bug, and before anything was sent: whatever comes later the writer calls an unknown outcome.
                    core.log.exception("bind failed by a bug", run_uid=item.uid, namespace=item.namespace)
                    return self._failed(reservation, error)
        core.metrics.cycle_duration["bind"].observe(core.clock.monotonic() - began)
        self.count_scheduled(reservation)
        self._note(reservation, Verdict.BOUND)
        core.reservations.succeeded(reservation, version)
        core.ingest.tell()
        return _Written(version)

    def count_scheduled(self, reservation: Reservation) -> None:
        """Count that the item was assigned: once, when the success is known."""
        core = self._core
        core.brakes.bound()
        core.metrics.sync["scheduled"].inc()
        waited = (core.clock.wall() - reservation.item.arrival) / SECOND
        core.metrics.run_queue_duration.observe(max(waited, 0.0))
        item, candidate = reservation.item, reservation.candidate
        core.recorder.record(
            ObjectRef(Run.kind, item.namespace, item.name, item.uid),
            "Scheduled",
            f"assigned to {candidate.name}",
            related=ObjectRef(Pod.kind, candidate.namespace, candidate.name, candidate.uid),
        )

    def _unknown(self, reservation: Reservation, error: OutcomeUnknownError) -> _Written:
        core, item = self._core, reservation.item
        core.tracer.failed(error)
        self._note(reservation, Verdict.RESERVED_BY_OTHER)
        # The writer may know a newer version than the view: what is at it, or below, tells nothing of this write.
        core.reservations.unknown(reservation, max(reservation.version, error.version))
        self._unsettled(reservation)
        core.ingest.tell()
        core.log.warning("outcome of a bind is unknown", run_uid=item.uid, namespace=item.namespace, reason=str(error))
        return _Written(0, _unconfirmed(item))

    def _refused(self, reservation: Reservation, error: KubeError) -> _Written:
        core = self._core
        core.tracer.failed(error)
        attempt = self._note(
            reservation, Verdict.CONFLICT if isinstance(error, ConflictError) else Verdict.ERROR, str(error)
        )
        if isinstance(error, ConflictError):
            core.metrics.reservation_conflicts["bind"].inc()
        if attempt is not None and isinstance(error, ConflictError):
            attempt.refused = reservation.version
        if attempt is not None and isinstance(error, ThrottledError):
            attempt.until = core.clock.monotonic() + error.retry_after
        if core.brakes.refused(error):
            core.log.warning("the driver stops taking keys", reason=core.brakes.reason())
        self._drop(reservation, End.REFUSED)
        return _Written(0, _refusal(reservation.item, error))

    def _failed(self, reservation: Reservation, error: Exception) -> _Written:
        item = reservation.item
        self._core.tracer.failed(error)
        self._note(reservation, Verdict.ERROR, repr(error))
        self._drop(reservation, End.REFUSED)
        message = f"Run {item.namespace}/{item.name} was not assigned, by a fault of this server: its log has the rest."
        return _Written(0, PlacementError(Reason.INTERNAL, message))

    def _trace_of(self, reservation: Reservation) -> object:
        attempt = self._core.attempts.find(reservation.attempt_id)
        return None if attempt is None else attempt.trace

    def _note(self, reservation: Reservation, verdict: Verdict, message: str = "") -> Attempt | None:
        """Tell the attempt whose reservation this is, if it is still in flight, and return it."""
        attempt = self._core.attempts.find(reservation.attempt_id)
        if attempt is not None:
            attempt.verdict, attempt.message = verdict, message
        return attempt

    def _drop(self, reservation: Reservation, end: End) -> None:
        self._core.reservations.drop(reservation, end)
        self._core.ingest.tell()


def _unconfirmed(item: Item) -> PlacementError:
    message = f"the outcome of binding Run {item.namespace}/{item.name} is unknown: call Bind again to follow it."
    return PlacementError(Reason.BIND_IN_PROGRESS, message, metadata={"state": State.UNCONFIRMED.value})


def _stale_item(item: Item) -> PlacementError:
    return PlacementError(
        Reason.STALE_ITEM,
        f"Run {item.namespace}/{item.name} is gone or in another attempt than the one reserved: plan again.",
        metadata={"namespace": item.namespace, "name": item.name, "uid": item.uid},
        retry_after=0.0,
    )


def _refusal(item: Item, error: KubeError) -> PlacementError:
    run = f"Run {item.namespace}/{item.name}"
    if isinstance(error, ConflictError):
        return PlacementError(
            Reason.STALE_ITEM,
            f"{run} was changed by somebody else meanwhile: plan again.",
            metadata={"namespace": item.namespace, "name": item.name, "uid": item.uid},
        )
    if isinstance(error, NotFoundError):
        return _stale_item(item)
    reason = error.reason if isinstance(error, RefusedError) else type(error).__name__.removesuffix("Error")
    after = error.retry_after if isinstance(error, ThrottledError) else None
    return PlacementError(
        Reason.BIND_REFUSED,
        f"the API server refused to assign {run}: {error}.",
        metadata={"reason": reason},
        retry_after=after,
    )
