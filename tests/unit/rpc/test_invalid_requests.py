"""Every wrong field, as a client sees it."""

from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message

from berth.v1 import inspection_service_pb2 as inspection_pb
from berth.v1 import placement_service_pb2 as pb
from tests.unit.rpc.rig import Rig, details_of, violations_of

RUN: Any = {"run": {"name": "train"}}
RUN_WITH_UID: Any = {"run": {"name": "train", "uid": "run-uid"}}
PY_1: Any = {"name": "py-1", "uid": "uid-1"}
LONG = "x" * 254


def _manifest(**fields: Any) -> Any:
    return {"manifest": {"kind": "Run"} | fields}


def _score(**fields: Any) -> pb.ScoreRequest:
    return pb.ScoreRequest(**({"item": RUN} | fields))


def _filter(**fields: Any) -> pb.FilterRequest:
    return pb.FilterRequest(**({"item": RUN} | fields))


def _plan(**fields: Any) -> pb.PlanRequest:
    return pb.PlanRequest(**({"item": RUN_WITH_UID} | fields))


def _reserve(**fields: Any) -> pb.ReserveRequest:
    return pb.ReserveRequest(**({"item": RUN_WITH_UID, "candidate": PY_1} | fields))


def _bind(**target: Any) -> pb.BindRequest:
    target = {"item": RUN_WITH_UID, "candidate": PY_1} | target
    return pb.BindRequest(target=pb.BindTarget(**target))


@pytest.mark.parametrize(
    ("request_message", "want_field", "want_text"),
    [
        pytest.param(_score(item={}), "item", "must hold a run or a manifest", id="item-unset"),
        pytest.param(_filter(item={}), "item", "must hold a run or a manifest", id="item-unset-filter"),
        pytest.param(_plan(item={}), "item", "must hold a run or a manifest", id="item-unset-plan"),
        pytest.param(
            _score(item={"pod": {"name": "p"}}),
            "item.pod",
            "this server has no profile for Pods; name a Run in item.run",
            id="item-pod",
        ),
        pytest.param(_score(item={"run": {}}), "item.run.name", "must not be empty", id="name-empty"),
        pytest.param(
            _score(item={"run": {"name": LONG}}),
            "item.run.name",
            "must have at most 253 characters, not 254",
            id="name-long",
        ),
        pytest.param(
            _score(item={"run": {"name": "n", "namespace": "x" * 64}}),
            "item.run.namespace",
            "must have at most 63 characters, not 64",
            id="namespace-long",
        ),
        pytest.param(
            _score(item={"run": {"name": "n", "uid": LONG}}),
            "item.run.uid",
            "must have at most 253 characters, not 254",
            id="uid-long",
        ),
        *(
            pytest.param(
                _score(item={"run": {"name": "n", "min_resource_version": version}}),
                "item.run.min_resource_version",
                "must be a decimal integer, as in metadata.resourceVersion",
                id=f"version-{name}",
            )
            for name, version in {
                "word": "abc",
                "sign": "-1",
                "fraction": "1.5",
                "spaces": " 1 ",
                "underscore": "1_0",
                "other-digits": "\u0661",
                "superscript": "\u00b2",
                "endless": "9" * 40,
            }.items()
        ),
        pytest.param(
            _score(read={"consistency": 7}), "read.consistency", "has the unknown value 7", id="consistency-unknown"
        ),
        pytest.param(
            _score(read={"profile": LONG}),
            "read.profile",
            "must have at most 253 characters, not 254",
            id="profile-long",
        ),
        pytest.param(
            _score(read={"max_view_age": Duration(seconds=-1)}),
            "read.max_view_age",
            "must not be negative",
            id="view-age-negative",
        ),
        pytest.param(_score(limit=-1), "limit", "must be 0 to 1000, not -1", id="limit-negative"),
        pytest.param(_score(limit=1001), "limit", "must be 0 to 1000, not 1001", id="limit-large"),
        pytest.param(_filter(page_size=-1), "page_size", "must be 0 to 1000, not -1", id="page-negative"),
        pytest.param(_filter(page_size=1001), "page_size", "must be 0 to 1000, not 1001", id="page-large"),
        pytest.param(
            _filter(page_token="t" * 2049), "page_token", "must have at most 2048 characters, not 2049", id="token-long"
        ),
        pytest.param(
            _score(candidates=["c"] * 1001), "candidates", "must have at most 1000 entries, not 1001", id="candidates"
        ),
        pytest.param(
            _score(candidates=["a", ""]), "candidates[1]", "must have 1 to 253 characters", id="candidate-empty"
        ),
        pytest.param(_score(candidates=[LONG]), "candidates[0]", "must have 1 to 253 characters", id="candidate-long"),
        pytest.param(_plan(hold=Duration(seconds=-1)), "hold", "must not be negative", id="hold-negative"),
        pytest.param(_plan(hold=Duration(nanos=-1)), "hold", "must not be negative", id="hold-a-nanosecond-negative"),
        pytest.param(_plan(hold=Duration(seconds=121)), "hold", "must be at most 120 s", id="hold-long"),
        pytest.param(
            _plan(hold=Duration(seconds=120, nanos=1)), "hold", "must be at most 120 s", id="hold-a-nanosecond-long"
        ),
        pytest.param(
            _plan(hold=Duration(seconds=1, nanos=-1)),
            "hold",
            "is not a valid duration: seconds and nanos differ in sign, or nanos are a second or more",
            id="hold-mixed-signs",
        ),
        pytest.param(
            _plan(hold=Duration(nanos=10**9)),
            "hold",
            "is not a valid duration: seconds and nanos differ in sign, or nanos are a second or more",
            id="hold-nanos-overflow",
        ),
        pytest.param(
            _plan(attempt_id=LONG), "attempt_id", "must have at most 253 characters, not 254", id="attempt-long"
        ),
        pytest.param(
            _plan(owner_token=LONG), "owner_token", "must have at most 253 characters, not 254", id="owner-long"
        ),
        pytest.param(_score(item={"manifest": {}}), "item.manifest.kind", "must be Run", id="manifest-without-kind"),
        pytest.param(_score(item=_manifest(kind="Job")), "item.manifest.kind", "must be Run", id="manifest-other-kind"),
        pytest.param(
            _score(item=_manifest(kind="Pod")),
            "item.manifest.kind",
            "this server has no profile for Pods; it must be Run",
            id="manifest-pod",
        ),
        pytest.param(_score(item=_manifest(kind=3)), "item.manifest.kind", "must be Run", id="manifest-kind-number"),
        pytest.param(
            _score(item=_manifest(apiVersion="v1")),
            "item.manifest.apiVersion",
            "must be kruntimes.io/v1alpha1, or absent",
            id="manifest-api-version",
        ),
        pytest.param(
            _score(item=_manifest(metadata="x")), "item.manifest.metadata", "must be an object", id="metadata-string"
        ),
        pytest.param(
            _score(item=_manifest(metadata={"name": 1})),
            "item.manifest.metadata.name",
            "must be a string",
            id="manifest-name-number",
        ),
        pytest.param(
            _score(item=_manifest(metadata={"name": LONG})),
            "item.manifest.metadata.name",
            "must have at most 253 characters, not 254",
            id="manifest-name-long",
        ),
        pytest.param(
            _score(item=_manifest(metadata={"namespace": "x" * 64})),
            "item.manifest.metadata.namespace",
            "must have at most 63 characters, not 64",
            id="manifest-namespace-long",
        ),
        pytest.param(
            _score(item=_manifest(spec={"resources": {"requests": {"gpu": 2.0**53}}})),
            "item.manifest.spec.resources.requests.gpu",
            "is too large for an exact number; write it as a string",
            id="number-2-to-53",
        ),
        pytest.param(
            _score(item=_manifest(spec={"list": [1, {"a.b/c": -(2.0**53)}]})),
            "item.manifest.spec.list[1][a.b/c]",
            "is too large for an exact number; write it as a string",
            id="number-in-a-list",
        ),
        pytest.param(
            _score(item=_manifest(spec={"x": float("nan")})),
            "item.manifest.spec.x",
            "must be a finite number",
            id="number-nan",
        ),
        pytest.param(
            _score(item=_manifest(spec={"x": float("-inf")})),
            "item.manifest.spec.x",
            "must be a finite number",
            id="number-infinite",
        ),
        pytest.param(
            pb.PlanBatchRequest(plans=[pb.PlanRequest()] * 1001),
            "plans",
            "must have at most 1000 entries, not 1001",
            id="batch-long",
        ),
        pytest.param(_reserve(item={}), "item", "must hold a run or a manifest", id="reserve-nothing"),
        pytest.param(_reserve(candidate={"uid": "u"}), "candidate.name", "must not be empty", id="reserve-on-no-name"),
        pytest.param(_reserve(hold=Duration(seconds=121)), "hold", "must be at most 120 s", id="reserve-long"),
        pytest.param(
            _reserve(profile=LONG), "profile", "must have at most 253 characters, not 254", id="reserve-profile"
        ),
        pytest.param(pb.ReleaseRequest(), "reservation_id", "must not be empty", id="release-nothing"),
        pytest.param(pb.BindRequest(), "reservation_id", "must be given, or a target in its place", id="bind-nothing"),
        pytest.param(
            pb.BindRequest(reservation_id=""),
            "reservation_id",
            "must be given, or a target in its place",
            id="bind-empty-id",
        ),
        pytest.param(
            pb.BindRequest(reservation_id=LONG),
            "reservation_id",
            "must have at most 253 characters, not 254",
            id="bind-long-id",
        ),
        pytest.param(_bind(item={}), "target.item", "must hold a run or a manifest", id="bind-no-item"),
        pytest.param(_bind(item={"run": {"uid": "u"}}), "target.item.run.name", "must not be empty", id="bind-no-name"),
        pytest.param(
            _bind(candidate={"uid": "u"}), "target.candidate.name", "must not be empty", id="bind-no-candidate"
        ),
        pytest.param(
            inspection_pb.ListReservationsRequest(page_size=1001),
            "page_size",
            "must be 0 to 1000, not 1001",
            id="reservations-page",
        ),
        pytest.param(
            inspection_pb.ListPendingRequest(namespace="x" * 64),
            "namespace",
            "must have at most 63 characters, not 64",
            id="pending-namespace",
        ),
        pytest.param(
            inspection_pb.ListRunsRequest(namespace="x" * 64),
            "namespace",
            "must have at most 63 characters, not 64",
            id="runs-namespace",
        ),
        pytest.param(
            inspection_pb.ListRunsRequest(phases=[""]), "phases[0]", "must have 1 to 253 characters", id="runs-phase"
        ),
        pytest.param(
            inspection_pb.ListRunsRequest(page_size=1001), "page_size", "must be 0 to 1000, not 1001", id="runs-page"
        ),
        pytest.param(
            inspection_pb.ListCandidatesRequest(runtime=LONG),
            "runtime",
            "must have at most 253 characters, not 254",
            id="candidates-runtime",
        ),
        pytest.param(
            inspection_pb.ListCandidatesRequest(page_size=-5),
            "page_size",
            "must be 0 to 1000, not -5",
            id="candidates-page",
        ),
    ],
)
async def test_names_the_wrong_field(rig: Rig, request_message: Message, want_field: str, want_text: str) -> None:
    """One wrong field is INVALID_FIELD with its path and the fix, in the sentence as well, and nobody was asked."""
    error = await _refusal(rig, request_message)
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert error.details() == f"{want_field}: {want_text}."
    assert violations_of(error) == [(want_field, want_text)]
    info = details_of(error)["ErrorInfo"]
    assert (info.reason, info.domain, dict(info.metadata)) == ("INVALID_FIELD", "berth.dev", {"field": want_field})
    assert rig.service.asked == []


async def test_names_every_wrong_field_at_once(rig: Rig) -> None:
    """Faults do not hide each other, the missing uid among them."""
    request = _plan(
        item={"run": {"namespace": "x" * 64, "min_resource_version": "a"}},
        read={"consistency": 9, "max_view_age": Duration(seconds=-1)},
        hold=Duration(seconds=500),
        owner_token=LONG,
    )
    error = await _refusal(rig, request)
    assert [field for field, _ in violations_of(error)] == [
        "item.run.namespace",
        "item.run.name",
        "item.run.min_resource_version",
        "item.run.uid",
        "owner_token",
        "read.consistency",
        "read.max_view_age",
        "hold",
    ]
    want = "8 fields are wrong; the first is item.run.namespace: must have at most 63 characters, not 64."
    assert error.details() == want
    assert details_of(error)["ErrorInfo"].reason == "INVALID_FIELD"


@pytest.mark.parametrize(
    ("request_message", "want"),
    [
        pytest.param(pb.PlanRequest(item=RUN), ["item.run.uid"], id="plan"),
        pytest.param(_reserve(item=RUN), ["item.run.uid"], id="reserve-item"),
        pytest.param(_reserve(candidate={"name": "py-1"}), ["candidate.uid"], id="reserve-candidate"),
        pytest.param(
            _bind(item=RUN, candidate={"name": "py-1"}), ["target.item.run.uid", "target.candidate.uid"], id="bind"
        ),
    ],
)
async def test_requires_a_uid_where_something_changes(rig: Rig, request_message: Message, want: list[str]) -> None:
    """A call that changes something must say which incarnation it means, of the Run and of the candidate."""
    error = await _refusal(rig, request_message)
    assert details_of(error)["ErrorInfo"].reason == "UID_REQUIRED"
    assert [field for field, _ in violations_of(error)] == want


async def test_requires_no_uid_of_a_dry_run(rig: Rig) -> None:
    """A read of what has this name now is a fair question."""
    await rig.placement.Plan(pb.PlanRequest(item=RUN, dry_run=True))


async def test_takes_a_hypothetical_run_for_dry_runs_only(rig: Rig) -> None:
    """What does not exist can't be reserved for."""
    for request in (_plan(item=_manifest()), _reserve(item=_manifest()), _bind(item=_manifest())):
        error = await _refusal(rig, request)
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert details_of(error)["ErrorInfo"].reason == "INLINE_NOT_ALLOWED"
        assert [field for field, _ in violations_of(error)] == ["item.manifest"]
    await rig.placement.Plan(pb.PlanRequest(item=_manifest(), dry_run=True))


async def test_more_faults_than_trailers_can_carry_are_counted(rig: Rig) -> None:
    """A thousand violations must reach the client as our error, not as a transport's error about header sizes."""
    error = await _refusal(rig, _score(candidates=[""] * 1000))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    *shown, (field, description) = violations_of(error)
    assert field == "..."
    assert description == f"and {1000 - len(shown)} more wrong fields"
    assert len(shown) > 10


async def test_bytes_that_are_no_message_are_the_callers_fault(rig: Rig) -> None:
    """Undecodable bytes are INVALID_ARGUMENT, without the text of the decoder's exception."""
    call: Any = rig.channel.unary_unary("/berth.v1.PlacementService/Score")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(b"\xff\xff\xff")
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.details() == "The request is not a message of this method's type."
    assert rig.handled("Score", "INVALID_ARGUMENT") == 1


async def _refusal(rig: Rig, request: Message) -> grpc.aio.AioRpcError:
    name = type(request).__name__.removesuffix("Request")
    stub = rig.inspection if name.startswith("List") else rig.placement
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await getattr(stub, name)(request)
    return caught.value
