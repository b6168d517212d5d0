"""Plan: Filter, Score and Reserve in one synchronous step. No await lies between the look and the reservation.

A dry run is the same step without the reservation; it passes over a reservation and a membership, but says so.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from berth_server.framework.contracts import PluginError
from berth_server.framework.engine import Cycle
from berth_server.objects.item import Item
from berth_server.placement import answers
from berth_server.placement.answers import IneligibleReason
from berth_server.placement.attempts import Attempt, Verdict
from berth_server.placement.core import Core
from berth_server.placement.described import check_owner, conflict, not_eligible, reservation_info
from berth_server.placement.diagnosis import NO_RUNTIME_PODS, NOTHING_TO_JUDGE, diagnose, summarize
from berth_server.placement.eligibility import Member, Standing, retry_delay, retry_ends, settled, standing
from berth_server.placement.failures import PlacementError
from berth_server.placement.questions import PlanQuestion, existing
from berth_server.placement.read import best_rows, candidate_at, pool_of, rejection_at
from berth_server.state.reservations import Reservation

BEST_ROWS: Final = 3

_OF_INELIGIBLE: Final = {
    IneligibleReason.TERMINAL: Verdict.SETTLED,
    IneligibleReason.TERMINATING: Verdict.SETTLED,
    IneligibleReason.NO_RUNTIME: Verdict.SETTLED,
    IneligibleReason.CANCELLED: Verdict.CANCELLED,
    IneligibleReason.UNSUPPORTED_FIELD: Verdict.HELD,
    IneligibleReason.RETRY_DELAY: Verdict.RETRY_DELAY,
}


class Planner:
    """Decides. One question at a time, each its own transaction."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def plan(self, question: PlanQuestion) -> answers.PlanAnswer:
        """See ports.Service."""
        if question.dry_run:
            return self._dry_run(await self._core.reader.locate(question.item, question.read), question)
        existing(question.item)
        item = await self._core.reader.locate(question.item, question.read)
        return self._decide(item, question)

    async def plan_batch(
        self, batch: Sequence[PlanQuestion | answers.Failure]
    ) -> Sequence[answers.PlanAnswer | answers.Failure]:
        """See ports.Service."""
        results: list[answers.PlanAnswer | answers.Failure] = []
        for question in batch:
            if isinstance(question, answers.Failure):
                results.append(question)
                continue
            try:
                results.append(await self.plan(question))
            except PlacementError as error:
                results.append(answers.Failure(error.reason, error.message, error.metadata))
        return results

    # --- the decision ---------------------------------------------------------------------------------------------

    def _decide(self, item: Item, question: PlanQuestion) -> answers.PlanAnswer:
        core = self._core
        attempt = core.attempts.of(question.attempt_id, item.uid)
        with core.tracer.span("scheduling_cycle", run_uid=item.uid) as trace:
            if attempt is not None:
                attempt.trace = trace
            return self._cycle(item, question, attempt)

    def _cycle(self, item: Item, question: PlanQuestion, attempt: Attempt | None) -> answers.PlanAnswer:
        core = self._core
        with core.tracer.span("snapshot"):
            cycle = core.reader.look(item, question.read.profile)
        if attempt is not None:
            core.queue.planned(attempt.number)
        why = standing(item, wall=core.clock.wall(), monotonic=core.clock.monotonic())
        if why is not None:
            return self._not_planned(cycle, why, attempt)
        held = core.reservations.of_item(item.uid)
        if held is not None:
            return self._reserved_before(cycle, held, question.owner, attempt)
        began = core.clock.monotonic()
        try:
            decision = core.reader.engine(question.read.profile).decide(cycle)
        except PluginError:
            _note(attempt, Verdict.SELECTION_ERROR)
            raise
        core.metrics.cycle_duration["decide"].observe(core.clock.monotonic() - began)
        diagnosis = summarize(cycle, decision.counts)
        self._count(diagnosis)
        if decision.row < 0:
            words = tuple(reason.reason for reason in diagnosis.reasons) or (NO_RUNTIME_PODS,)
            _note(attempt, Verdict.UNSCHEDULABLE, words, diagnosis.message)
            return self._answer(cycle, diagnosis, answers.Unschedulable())
        with core.tracer.span("reserve"):
            reservation = self.reserve(cycle, decision.row, question.owner, question.hold, question.attempt_id)
        return self._answer(cycle, diagnosis, answers.Reserved(reservation_info(core, reservation)))

    def reserve(self, cycle: Cycle, row: int, owner: str, hold: float, attempt_id: str) -> Reservation:
        """Ask the whole filter chain about `row` as it is now, then take the room.

        Raises PlacementError RESERVATION_CONFLICT with the rejection; then nothing was taken.
        """
        core, item = self._core, cycle.item
        attempt = core.attempts.find(attempt_id)
        code = cycle.judge(row)
        if code:
            _note(attempt, Verdict.CONFLICT)
            core.metrics.reservation_conflicts["reserve"].inc()
            raise conflict(item, cycle.view.columns.names[row], rejection_at(cycle, row, code))
        reservation = core.reservations.hold(
            item,
            core.state.candidates[cycle.view.columns.uids[row]],
            owner=owner,
            attempt_id=attempt_id,
            held_until=core.clock.monotonic() + hold,
            wall=core.clock.wall(),
            profile=cycle.profile.name,
        )
        _note(attempt, Verdict.RESERVED)
        core.ingest.tell()
        return reservation

    def _not_planned(self, cycle: Cycle, why: Standing, attempt: Attempt | None) -> answers.PlanAnswer:
        clock = self._core.clock
        match why:
            case answers.Ineligible(why=word, detail=detail):
                ends = retry_ends(cycle.item, wall=clock.wall(), monotonic=clock.monotonic())
                _note(attempt, _OF_INELIGIBLE[word], (word.value,), detail, until=ends or 0.0)
            case answers.Invalid(violations=violations):
                _note(attempt, Verdict.INVALID, (violations[0].reason,), violations[0].message)
            case answers.AlreadyAssigned():
                _note(attempt, Verdict.SETTLED)
            case Member():
                error = not_eligible(cycle.item, why)
                _note(attempt, Verdict.HELD, ("MemberOfGroup",), error.message)
                raise error
        return self._answer(cycle, NOTHING_TO_JUDGE, why)

    def _reserved_before(
        self, cycle: Cycle, held: Reservation, owner: str, attempt: Attempt | None
    ) -> answers.PlanAnswer:
        if held.owner != owner:
            _note(attempt, Verdict.RESERVED_BY_OTHER)
        check_owner(held, owner)
        if attempt is not None:
            self._core.reservations.adopt(held, attempt.id)
        _note(attempt, Verdict.RESERVED)
        info = reservation_info(self._core, held)
        return self._answer(cycle, NOTHING_TO_JUDGE, answers.AlreadyReserved(info))

    def _count(self, diagnosis: answers.Diagnosis) -> None:
        for reason in diagnosis.reasons:
            self._core.metrics.filter_rejections[reason.plugin, reason.reason].inc(reason.count)

    # --- the dry run ----------------------------------------------------------------------------------------------

    def _dry_run(self, item: Item, question: PlanQuestion) -> answers.PlanAnswer:
        core = self._core
        cycle = core.reader.look(item, question.read.profile)
        why = settled(item) or retry_delay(item, wall=core.clock.wall(), monotonic=core.clock.monotonic())
        if why is not None:
            return self._answer(cycle, NOTHING_TO_JUDGE, why)
        codes = cycle.filter()
        ranked = cycle.score(np.flatnonzero(codes == 0))
        held, row = core.reservations.of_item(item.uid), ranked.best()
        reservation = None if held is None else reservation_info(core, held)
        group = item.link or ""
        result: answers.PlanResult = (
            answers.Unschedulable(reservation, group)
            if row < 0
            else answers.Fits(candidate_at(cycle, row), reservation, group)
        )
        return self._answer(cycle, diagnose(cycle, codes), result, best_rows(cycle, ranked, BEST_ROWS))

    def _answer(
        self,
        cycle: Cycle,
        diagnosis: answers.Diagnosis,
        result: answers.PlanResult,
        best: Sequence[answers.ScoredCandidate] = (),
    ) -> answers.PlanAnswer:
        return answers.PlanAnswer(self._core.reader.snapshot(cycle), pool_of(cycle.item), diagnosis, result, best)


def _note(
    attempt: Attempt | None, verdict: Verdict, reasons: tuple[str, ...] = (), message: str = "", *, until: float = 0.0
) -> None:
    if attempt is not None:
        attempt.verdict, attempt.reasons, attempt.message, attempt.until = verdict, reasons, message, until
