"""Reservations and refusals in the words of an answer."""

from berth_server.objects.clock import SECOND
from berth_server.objects.item import Item
from berth_server.placement import answers
from berth_server.placement.core import Core
from berth_server.placement.eligibility import Member, Standing
from berth_server.placement.failures import PlacementError, Reason
from berth_server.placement.questions import CandidateRef
from berth_server.placement.translate import instant
from berth_server.state.reservations import Reservation, State


def reservation_info(core: Core, reservation: Reservation) -> answers.ReservationInfo:
    """Return the reservation as callers see it."""
    held_until = None
    if reservation.state is State.HELD:
        left = reservation.held_until - core.clock.monotonic()
        held_until = instant(core.clock.wall() + round(left * SECOND))
    item, candidate = reservation.item, reservation.candidate
    return answers.ReservationInfo(
        id=reservation.id,
        namespace=item.namespace,
        name=item.name,
        uid=item.uid,
        candidate=CandidateRef(candidate.name, candidate.uid),
        requests=dict(item.spec.requests),
        state=answers.ReservationState(reservation.state.value),
        held_until=held_until,
        owner=reservation.owner,
        created_at=instant(reservation.created_at),
    )


def check_owner(reservation: Reservation, owner: str) -> None:
    """Raise PlacementError RESERVED_BY_OTHER unless the reservation is the owner's."""
    if reservation.owner != owner:
        item = reservation.item
        raise PlacementError(
            Reason.RESERVED_BY_OTHER,
            f"Run {item.namespace}/{item.name} is reserved on {reservation.candidate.name} by another owner: "
            "wait until that reservation ends.",
            metadata={"candidate": reservation.candidate.name, "state": reservation.state.value},
        )


def not_eligible(item: Item, why: Standing) -> PlacementError:
    """Return the error of a caller that wants to reserve or bind an item which takes part in no cycle."""
    run = f"Run {item.namespace}/{item.name}"
    match why:
        case Member(group=group):
            return PlacementError(
                Reason.MEMBER_OF_GROUP,
                f"{run} belongs to PodGroup {group or '(unnamed)'} and is placed with it, never alone.",
                metadata={"group": group},
            )
        case answers.AlreadyAssigned(candidate=candidate):
            return PlacementError(
                Reason.NOT_ELIGIBLE,
                f"{run} is assigned to {candidate.name or candidate.uid or '(nobody)'} already.",
                metadata={"why": "AlreadyAssigned", "candidate": candidate.name, "candidate_uid": candidate.uid},
            )
        case answers.Invalid(violations=violations):
            return PlacementError(
                Reason.NOT_ELIGIBLE,
                f"{run} can't be placed: {violations[0].message}.",
                metadata={"why": violations[0].reason, "field": violations[0].field},
            )
        case answers.Ineligible(why=word, detail=detail):
            return PlacementError(
                Reason.NOT_ELIGIBLE, f"{run} takes part in no cycle: {detail}.", metadata={"why": word.value}
            )


def conflict(item: Item, candidate: str, rejection: answers.Rejection) -> PlacementError:
    """Return the error RESERVATION_CONFLICT with the rejection."""
    detail = f" ({rejection.detail})" if rejection.detail else ""
    return PlacementError(
        Reason.RESERVATION_CONFLICT,
        f"Run {item.namespace}/{item.name} does not fit on {candidate}: {rejection.reason}{detail}. Filter again.",
        metadata={
            "plugin": rejection.plugin,
            "reason": rejection.reason,
            "detail": rejection.detail,
            "candidate": candidate,
        },
        retry_after=0.0,
    )
