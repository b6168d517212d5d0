"""Answers of the placement service to responses.

Rows are filled in place: a message handed to a constructor is copied, which doubles the cost of a ranking. A message
that a response always has is marked present, also when all its fields are zero.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from berth.v1 import placement_service_pb2 as placement_pb
from berth.v1 import resources_pb2 as pb
from berth_server.placement import answers
from berth_server.placement.questions import CandidateRef
from berth_server.rpc.codec.times import put_instant, put_span

_MAX_INT64: Final = 2**63 - 1
_STATE: Final = {
    answers.ReservationState.HELD: pb.RESERVATION_STATE_HELD,
    answers.ReservationState.BINDING: pb.RESERVATION_STATE_BINDING,
    answers.ReservationState.UNCONFIRMED: pb.RESERVATION_STATE_UNCONFIRMED,
    answers.ReservationState.BOUND: pb.RESERVATION_STATE_BOUND,
}
_WHY: Final = {
    answers.IneligibleReason.TERMINAL: placement_pb.INELIGIBLE_REASON_TERMINAL,
    answers.IneligibleReason.TERMINATING: placement_pb.INELIGIBLE_REASON_TERMINATING,
    answers.IneligibleReason.CANCELLED: placement_pb.INELIGIBLE_REASON_CANCELLED,
    answers.IneligibleReason.NO_RUNTIME: placement_pb.INELIGIBLE_REASON_NO_RUNTIME,
    answers.IneligibleReason.UNSUPPORTED_FIELD: placement_pb.INELIGIBLE_REASON_UNSUPPORTED_FIELD,
    answers.IneligibleReason.RETRY_DELAY: placement_pb.INELIGIBLE_REASON_RETRY_DELAY,
}


def filter_response(answer: answers.FilterAnswer) -> placement_pb.FilterResponse:
    """Encode one page of verdicts."""
    response = placement_pb.FilterResponse(next_page_token=answer.next_page_token)
    _put_head(response, answer)
    for row in answer.rows:
        into = response.rows.add(feasible=not row.rejections)
        put_candidate(into.candidate, row.candidate)
        for rejection in row.rejections:
            into.rejections.add(plugin=rejection.plugin, reason=rejection.reason, detail=rejection.detail)
    return response


def score_response(answer: answers.ScoreAnswer) -> placement_pb.ScoreResponse:
    """Encode a ranking."""
    response = placement_pb.ScoreResponse(unknown_candidates=answer.unknown_candidates)
    _put_head(response, answer)
    if answer.chosen is not None:
        put_candidate(response.chosen, answer.chosen)
    _add_scored(response.rows.add, answer.rows)
    return response


def plan_response(answer: answers.PlanAnswer) -> placement_pb.PlanResponse:
    """Encode a decision."""
    response = placement_pb.PlanResponse()
    _put_head(response, answer)
    _add_scored(response.best.add, answer.best)
    _put_result(response, answer.result)
    return response


def put_candidate(into: pb.CandidateRef, candidate: CandidateRef) -> None:
    """Fill a reference to a candidate."""
    into.name = candidate.name
    into.uid = candidate.uid


def put_reservation(into: pb.Reservation, reservation: answers.ReservationInfo) -> None:
    """Fill a reservation."""
    into.id = reservation.id
    item = into.item
    item.namespace = reservation.namespace
    item.name = reservation.name
    item.uid = reservation.uid
    put_candidate(into.candidate, reservation.candidate)
    into.requests.update(reservation.requests)
    into.state = _STATE[reservation.state]
    if reservation.held_until is not None:
        put_instant(into.held_until, reservation.held_until)
    into.owner = reservation.owner
    put_instant(into.created_at, reservation.created_at)


def _put_head(
    response: placement_pb.FilterResponse | placement_pb.ScoreResponse | placement_pb.PlanResponse,
    answer: answers.FilterAnswer | answers.ScoreAnswer | answers.PlanAnswer,
) -> None:
    _put_snapshot(response.snapshot, answer.snapshot)
    pool = response.pool
    pool.SetInParent()
    pool.namespace = answer.pool.namespace
    pool.runtime = answer.pool.runtime
    _put_diagnosis(response.diagnosis, answer.diagnosis)


def _put_snapshot(into: pb.Snapshot, snapshot: answers.SnapshotInfo) -> None:
    into.instance = snapshot.instance
    into.generation = snapshot.generation
    into.pool_epoch = snapshot.pool_epoch
    put_instant(into.evaluated_at, snapshot.evaluated_at)
    into.view_age.SetInParent()
    put_span(into.view_age, snapshot.view_age)
    into.leader = snapshot.leader
    into.reservations_included = snapshot.reservations_included


def _put_diagnosis(into: pb.Diagnosis, diagnosis: answers.Diagnosis) -> None:
    into.SetInParent()
    into.considered = diagnosis.considered
    into.feasible = diagnosis.feasible
    into.message = diagnosis.message
    for each in diagnosis.reasons:
        reason = into.reasons.add(
            plugin=each.plugin, reason=each.reason, count=each.count, nearest_miss=each.nearest_miss
        )
        if each.nearest is not None:
            put_candidate(reason.nearest, each.nearest)


def _add_scored(add: Callable[..., pb.ScoredCandidate], rows: Iterable[answers.ScoredCandidate]) -> None:
    for row in rows:
        into = add(total=row.total)
        put_candidate(into.candidate, row.candidate)
        _add_scores(into.scores.add, row.scores)
        rejection = row.rejection
        if rejection is not None:
            into.rejection.plugin = rejection.plugin
            into.rejection.reason = rejection.reason
            into.rejection.detail = rejection.detail


def _add_scores(add: Callable[..., Any], scores: Sequence[answers.PluginScore]) -> None:
    for score in scores:
        add(
            plugin=score.plugin,
            raw=min(score.raw, _MAX_INT64),
            normalized=score.normalized,
            weight=score.weight,
            weighted=score.weighted,
        )


def _put_result(response: placement_pb.PlanResponse, result: answers.PlanResult) -> None:
    match result:
        case answers.Reserved():
            put_reservation(response.reserved, result.reservation)
        case answers.AlreadyReserved():
            put_reservation(response.already_reserved, result.reservation)
        case answers.Fits():
            put_candidate(response.fits.candidate, result.candidate)
            _put_aside(response.fits, result)
        case answers.Unschedulable():
            response.unschedulable.SetInParent()
            _put_aside(response.unschedulable, result)
        case answers.Ineligible():
            response.ineligible.why = _WHY[result.why]
            response.ineligible.detail = result.detail
            if result.until is not None:
                put_instant(response.ineligible.until, result.until)
        case answers.AlreadyAssigned():
            put_candidate(response.already_assigned.candidate, result.candidate)
        case answers.Invalid():
            response.invalid.SetInParent()
            for each in result.violations:
                response.invalid.violations.add(reason=each.reason, field=each.field, message=each.message)


def _put_aside(
    into: placement_pb.Fits | placement_pb.Unschedulable, result: answers.Fits | answers.Unschedulable
) -> None:
    into.group = result.group
    if result.reservation is not None:
        put_reservation(into.reservation, result.reservation)
