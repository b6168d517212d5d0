"""What an answer looks like to a client."""

from dataclasses import replace
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict

from berth_server.placement import answers
from berth_server.placement.failures import Reason
from berth_server.rpc.codec import encode, encode_inspection
from tests.fakes.placement_service import (
    EVALUATED_AT,
    POOL,
    FakeService,
    make_diagnosis,
    make_pod,
    make_reservation,
    make_scored,
    make_snapshot,
)

SNAPSHOT = {
    "instance": "berth-0",
    "generation": "7",
    "poolEpoch": "e1",
    "evaluatedAt": "2026-03-01T12:00:00.250Z",
    "viewAge": "0.250s",
    "leader": True,
    "reservationsIncluded": True,
}
POD_1 = {"name": "py-1", "uid": "uid-1"}
POD_2 = {"name": "py-2", "uid": "uid-2"}
FULL = {
    "plugin": "RuntimePodAvailability",
    "reason": "InsufficientCapacity",
    "detail": "gpu: needs 2, free 1",
}
HEAD: dict[str, Any] = {
    "snapshot": SNAPSHOT,
    "pool": {"namespace": "default", "runtime": "py"},
    "diagnosis": {
        "considered": 3,
        "feasible": 1,
        "reasons": [
            {
                "plugin": "RuntimePodAvailability",
                "reason": "InsufficientCapacity",
                "count": 2,
                "nearestMiss": "gpu: 1 short",
                "nearest": POD_2,
            }
        ],
    },
}
SCORED_1 = {
    "candidate": POD_1,
    "total": "150",
    "scores": [
        {"plugin": "PreferredRunAffinity", "raw": "5", "normalized": "100", "weight": "1", "weighted": "100"},
        {"plugin": "LeastLoaded", "raw": "333333", "normalized": "50", "weight": "1", "weighted": "50"},
    ],
}
RESERVATION = {
    "id": "7d2a4e5e-2f5c-4a0e-9b53-1f4f5f0f8a11",
    "item": {"namespace": "default", "name": "train", "uid": "run-uid"},
    "candidate": POD_1,
    "requests": {"runs": "1", "gpu": "2"},
    "state": "RESERVATION_STATE_HELD",
    "heldUntil": "2026-03-01T12:00:00.250Z",
    "owner": "unix",
    "createdAt": "2026-03-01T12:00:00.250Z",
}


async def test_encodes_verdicts() -> None:
    """A candidate without rejections is feasible."""
    answer = await FakeService().filter(None)  # type: ignore[arg-type]  # the fake does not look at it
    want = HEAD | {
        "rows": [{"candidate": POD_1, "feasible": True}, {"candidate": POD_2, "rejections": [FULL]}],
        "nextPageToken": "more",
    }
    assert MessageToDict(encode.filter_response(answer)) == want


async def test_encodes_a_ranking() -> None:
    """Scores come plugin by plugin; a rejected candidate has its rejection instead."""
    answer = await FakeService().score(None)  # type: ignore[arg-type]  # the fake does not look at it
    want = HEAD | {
        "chosen": POD_1,
        "rows": [SCORED_1, {"candidate": POD_2, "rejection": FULL}],
        "unknownCandidates": ["nobody"],
    }
    assert MessageToDict(encode.score_response(answer)) == want


def test_nothing_chosen_is_unset() -> None:
    """No candidate is not a candidate without a name; what is always there is there, also when it is zero."""
    snapshot = replace(make_snapshot(), view_age=0.0)
    nothing = answers.Diagnosis(0, 0, (), "")
    response = encode.score_response(answers.ScoreAnswer(snapshot, answers.PoolRef("", ""), nothing, None, ()))
    assert not response.HasField("chosen")
    assert response.HasField("pool")
    assert response.HasField("diagnosis")
    assert response.snapshot.HasField("view_age")


def test_a_raw_score_saturates() -> None:
    """Raw scores are unbounded inside and int64 outside."""
    scored = answers.ScoredCandidate(make_pod(1), 1, [answers.PluginScore("P", 2**70, 1, 1)])
    response = encode.score_response(answers.ScoreAnswer(make_snapshot(), POOL, make_diagnosis(), None, [scored]))
    assert response.rows[0].scores[0].raw == 2**63 - 1


@pytest.mark.parametrize(
    ("result", "want"),
    [
        pytest.param(answers.Reserved(make_reservation()), {"reserved": RESERVATION}, id="reserved"),
        pytest.param(
            answers.AlreadyReserved(make_reservation()), {"alreadyReserved": RESERVATION}, id="already-reserved"
        ),
        pytest.param(answers.Fits(make_pod(1)), {"fits": {"candidate": POD_1}}, id="fits"),
        pytest.param(
            answers.Fits(make_pod(1), make_reservation(), "gang"),
            {"fits": {"candidate": POD_1, "reservation": RESERVATION, "group": "gang"}},
            id="fits-but",
        ),
        pytest.param(answers.Unschedulable(), {"unschedulable": {}}, id="unschedulable"),
        pytest.param(
            answers.Unschedulable(make_reservation(), "gang"),
            {"unschedulable": {"reservation": RESERVATION, "group": "gang"}},
            id="unschedulable-and",
        ),
        pytest.param(
            answers.Ineligible(answers.IneligibleReason.RETRY_DELAY, EVALUATED_AT),
            {"ineligible": {"why": "INELIGIBLE_REASON_RETRY_DELAY", "until": "2026-03-01T12:00:00.250Z"}},
            id="retry-delay",
        ),
        pytest.param(
            answers.Ineligible(answers.IneligibleReason.UNSUPPORTED_FIELD, detail="spec.x: 1"),
            {"ineligible": {"why": "INELIGIBLE_REASON_UNSUPPORTED_FIELD", "detail": "spec.x: 1"}},
            id="unsupported",
        ),
        pytest.param(
            answers.AlreadyAssigned(make_pod(2)), {"alreadyAssigned": {"candidate": POD_2}}, id="already-assigned"
        ),
        pytest.param(
            answers.Invalid([answers.Violation("InvalidResources", "spec.resources", "negative")]),
            {
                "invalid": {
                    "violations": [{"reason": "InvalidResources", "field": "spec.resources", "message": "negative"}]
                }
            },
            id="invalid",
        ),
        pytest.param(answers.Invalid([]), {"invalid": {}}, id="invalid-without-list"),
    ],
)
def test_encodes_every_outcome_of_a_plan(result: answers.PlanResult, want: dict[str, Any]) -> None:
    """Each outcome sets its own arm of the oneof, also when it has nothing more to say."""
    answer = answers.PlanAnswer(make_snapshot(), POOL, make_diagnosis(), result, [make_scored(1)])
    assert MessageToDict(encode.plan_response(answer)) == HEAD | {"best": [SCORED_1]} | want


@pytest.mark.parametrize("state", answers.ReservationState)
def test_encodes_every_state_of_a_reservation(state: answers.ReservationState) -> None:
    """The wire has a value for each state; only what is held has an end."""
    result = answers.Reserved(make_reservation(state=state, held_until=None))
    response = encode.plan_response(answers.PlanAnswer(make_snapshot(), POOL, make_diagnosis(), result))
    got = MessageToDict(response.reserved)
    assert got["state"] == f"RESERVATION_STATE_{state.value}"
    assert "heldUntil" not in got


@pytest.mark.parametrize("why", answers.IneligibleReason)
def test_encodes_every_ineligibility(why: answers.IneligibleReason) -> None:
    """The wire has a value for each reason."""
    answer = answers.PlanAnswer(make_snapshot(), POOL, make_diagnosis(), answers.Ineligible(why))
    assert MessageToDict(encode.plan_response(answer))["ineligible"]["why"] == f"INELIGIBLE_REASON_{why.name}"


async def test_encodes_a_batch() -> None:
    """One result for each plan, in order; a failure has what a unary call would have answered."""
    fine = answers.PlanAnswer(make_snapshot(), POOL, make_diagnosis(), answers.Fits(make_pod(1)))
    failure = answers.Failure(Reason.STALE_ITEM, "Another uid.", {"name": "train"})
    want = {
        "results": [
            {"response": HEAD | {"fits": {"candidate": POD_1}}},
            {
                "failure": {
                    "code": 10,
                    "reason": "STALE_ITEM",
                    "message": "Another uid.",
                    "metadata": {"name": "train"},
                }
            },
        ]
    }
    assert MessageToDict(encode.plan_batch_response([fine, failure])) == want


def test_encodes_the_room_taken() -> None:
    """A reservation comes with what it was decided on."""
    answer = answers.ReserveAnswer(make_snapshot(), make_reservation())
    assert MessageToDict(encode.reserve_response(answer)) == {"snapshot": SNAPSHOT, "reservation": RESERVATION}


@pytest.mark.parametrize("outcome", answers.BindOutcome)
def test_encodes_an_assignment(outcome: answers.BindOutcome) -> None:
    """The wire has a value for each outcome."""
    want = {"outcome": f"BIND_OUTCOME_{outcome.value}", "candidate": POD_1, "resourceVersion": "43"}
    assert MessageToDict(encode.bind_response(answers.BindAnswer(outcome, make_pod(1), 43))) == want


async def test_encodes_reservations() -> None:
    """A list of reservations has the same rows as a Reserve."""
    page = await FakeService().list_reservations(namespace="", page_size=1, page_token="")
    want = {"reservations": [RESERVATION], "nextPageToken": "more"}
    assert MessageToDict(encode_inspection.reservations_response(page)) == want


@pytest.mark.parametrize("state", answers.PendingState)
async def test_encodes_what_waits(state: answers.PendingState) -> None:
    """A key of the queue says where it stands and why; the wire has a value for each state."""
    page = await FakeService().list_pending(namespace="", page_size=1, page_token="")
    response = encode_inspection.pending_response(answers.Page([replace(page.rows[0], state=state)], "more"))
    want = {
        "item": {"namespace": "default", "name": "train", "uid": "run-uid"},
        "state": f"PENDING_STATE_{state.value}",
        "position": 1,
        "attempts": 2,
        "reasons": ["InsufficientCapacity"],
        "message": "0/3 runtime pods: 3 InsufficientCapacity",
        "notBefore": "2026-03-01T12:00:00.250Z",
    }
    assert MessageToDict(response) == {"items": [want], "nextPageToken": "more"}


async def test_encodes_runs() -> None:
    """A key is ready to be asked for again at the version seen."""
    page = await FakeService().list_runs(namespace="", phases=(), page_size=1, page_token="")
    want = {
        "runs": [
            {
                "key": {"namespace": "default", "name": "train", "uid": "run-uid", "minResourceVersion": "42"},
                "runtime": "py",
                "phase": "Running",
                "assigned": POD_1,
                "requests": {"runs": "1"},
                "attempt": 1,
                "createdAt": "2026-03-01T12:00:00.250Z",
            }
        ],
        "nextPageToken": "more",
    }
    assert MessageToDict(encode_inspection.runs_response(page)) == want
    waiting = replace(page.rows[0], assigned=None, created_at=None)
    row = encode_inspection.runs_response(answers.Page([waiting])).runs[0]
    assert not row.HasField("assigned")
    assert not row.HasField("created_at")


async def test_encodes_candidates() -> None:
    """Available is having no reason not to be; amounts saturate at 2^62."""
    page = await FakeService().list_candidates(namespace="", runtime="", page_size=1, page_token="")
    common = {
        "namespace": "default",
        "runtime": "py",
        "node": "node-1",
        "resources": {
            "runs": {"capacity": "2", "used": "1"},
            "gpu": {"capacity": str(2**62), "used": str(2**62)},
        },
    }
    want = {
        "candidates": [
            common | {"candidate": POD_1, "available": True},
            common | {"candidate": POD_2, "reason": "StaleHeartbeat", "overcommitted": True},
        ]
    }
    assert MessageToDict(encode_inspection.candidates_response(page)) == want


async def test_encodes_who_answers() -> None:
    """Versions are text on the wire, as Kubernetes writes them."""
    want = {
        "version": "0.1.0",
        "instance": "berth-0",
        "leader": True,
        "synced": True,
        "generation": "7",
        "views": [{"kind": "Run", "objects": "3", "resourceVersion": "42", "age": "0.500s", "undecodable": "1"}],
        "profiles": [
            {
                "name": "default",
                "plugins": [{"name": "LeastLoaded", "weight": "1", "arguments": {"unbound": "ignore"}}],
            }
        ],
        "counts": {"runs": "3"},
        "asOf": "2026-03-01T12:00:00.250Z",
    }
    assert MessageToDict(encode_inspection.server_info_response(await FakeService().server_info())) == want
