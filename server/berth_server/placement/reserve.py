"""Reserve and Release: room on a candidate that the caller names. Synchronous between the look and the record."""

from berth_server.framework.engine import Cycle
from berth_server.objects.item import Item
from berth_server.placement import answers
from berth_server.placement.core import Core
from berth_server.placement.described import check_owner, conflict, not_eligible, reservation_info
from berth_server.placement.eligibility import standing
from berth_server.placement.failures import PlacementError, Reason
from berth_server.placement.plan import Planner
from berth_server.placement.questions import CandidateRef, ReadOptions, ReleaseQuestion, ReserveQuestion
from berth_server.placement.read import rejection_at
from berth_server.state.reservations import End, Reservation, State


class Reserver:
    """Takes and gives back room by name. Natural keys make calls idempotent: the same again renews the same hold."""

    def __init__(self, core: Core, planner: Planner) -> None:
        self._core = core
        self._planner = planner

    async def reserve(self, question: ReserveQuestion) -> answers.ReserveAnswer:
        """See ports.Service."""
        read = ReadOptions(profile=question.profile, deadline=question.deadline)
        item = await self._core.reader.locate(question.item, read)
        cycle = self._core.reader.look(item, question.profile)
        reservation = self.take(cycle, question)
        return answers.ReserveAnswer(self._core.reader.snapshot(cycle), reservation_info(self._core, reservation))

    async def release(self, question: ReleaseQuestion) -> bool:
        """See ports.Service."""
        core = self._core
        core.reader.let_time_pass()
        reservation = core.reservations.get(question.reservation_id)
        if reservation is None:
            return False
        check_owner(reservation, question.owner)
        if reservation.state is not State.HELD:
            raise _in_progress(reservation)
        core.reservations.drop(reservation, End.RELEASED)
        core.ingest.tell()
        return True

    def take(self, cycle: Cycle, question: ReserveQuestion) -> Reservation:
        """Reserve or renew, on a look that was just taken. Raises PlacementError; then nothing new is held."""
        core, item = self._core, cycle.item
        core.attempts.of(question.attempt_id, item.uid)
        why = standing(item, wall=core.clock.wall(), monotonic=core.clock.monotonic())
        if why is not None:
            raise not_eligible(item, why)
        held = core.reservations.of_item(item.uid)
        if held is not None:
            return self._renew(cycle, held, question)
        row = row_of(cycle, question.candidate)
        return self._planner.reserve(cycle, row, question.owner, question.hold, question.attempt_id)

    def _renew(self, cycle: Cycle, held: Reservation, question: ReserveQuestion) -> Reservation:
        core, item = self._core, cycle.item
        check_owner(held, question.owner)
        if question.candidate.name != held.candidate.name:
            raise PlacementError(
                Reason.RESERVATION_CONFLICT,
                f"Run {item.namespace}/{item.name} is reserved on {held.candidate.name}: release it or bind it.",
                metadata={"candidate": held.candidate.name, "candidate_uid": held.candidate.uid},
                retry_after=0.0,
            )
        if held.state is not State.HELD:
            raise _in_progress(held)
        row = row_of(cycle, question.candidate)
        code = cycle.judge(row)
        if code:
            core.reservations.drop(held, End.REJECTED)
            core.metrics.reservation_conflicts["reserve"].inc()
            core.ingest.tell()
            raise conflict(item, held.candidate.name, rejection_at(cycle, row, code))
        core.reservations.renew(held, core.clock.monotonic() + question.hold)
        return held


def row_of(cycle: Cycle, candidate: CandidateRef) -> int:
    """Return the row of a candidate that a caller names. Raises PlacementError UNKNOWN_CANDIDATE or STALE_TARGET."""
    columns, item = cycle.view.columns, cycle.item
    row = columns.row_of_name.get(candidate.name)
    if row is None:
        raise PlacementError(
            Reason.UNKNOWN_CANDIDATE,
            f"there is no Runtime Pod {candidate.name} of runtime {item.spec.runtime} in namespace {item.namespace}.",
            metadata={"candidate": candidate.name, "namespace": item.namespace, "runtime": item.spec.runtime},
        )
    if candidate.uid and candidate.uid != columns.uids[row]:
        raise stale_target(item, candidate, columns.uids[row])
    return row


def stale_target(item: Item, candidate: CandidateRef, uid: str) -> PlacementError:
    """Return the error for a candidate that was replaced by another of its name, or left ("")."""
    now = f"has uid {uid} now" if uid else f"is not a Runtime Pod of runtime {item.spec.runtime} any more"
    return PlacementError(
        Reason.STALE_TARGET,
        f"{candidate.name} {now}, it was {candidate.uid}: filter again.",
        metadata={"candidate": candidate.name, "asked_uid": candidate.uid, "uid": uid},
        retry_after=0.0,
    )


def _in_progress(reservation: Reservation) -> PlacementError:
    item = reservation.item
    return PlacementError(
        Reason.BIND_IN_PROGRESS,
        f"Run {item.namespace}/{item.name} is being bound to {reservation.candidate.name}: call Bind to join it.",
        metadata={"candidate": reservation.candidate.name, "state": reservation.state.value},
    )
