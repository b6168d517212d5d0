"""What a right request means."""

from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration

from berth.v1 import inspection_service_pb2 as inspection_pb
from berth.v1 import placement_service_pb2 as pb
from berth_server.placement.answers import Failure
from berth_server.placement.failures import Reason
from berth_server.placement.questions import (
    BindQuestion,
    CandidateRef,
    Consistency,
    ExistingRun,
    FilterQuestion,
    HypotheticalRun,
    PlanQuestion,
    ReadOptions,
    ReleaseQuestion,
    ReserveQuestion,
    ScoreQuestion,
)
from berth_server.rpc.codec import decode, decode_inspection

RUN: Any = {"run": {"name": "train"}}
RUN_WITH_UID: Any = {"run": {"name": "train", "uid": "u"}}
MANIFEST: Any = {"manifest": {"kind": "Run"}}
PY_1: Any = {"name": "py-1", "uid": "c"}
NEXT = "t"
TRAIN = ExistingRun("default", "train")


@pytest.mark.parametrize(
    ("key", "want"),
    [
        pytest.param({"name": "train"}, TRAIN, id="default-namespace"),
        pytest.param(
            {"namespace": "a", "name": "n" * 253, "uid": "u"}, ExistingRun("a", "n" * 253, "u"), id="longest-name"
        ),
        pytest.param(
            {"name": "train", "min_resource_version": "0"}, ExistingRun("default", "train", "", 0), id="version-zero"
        ),
        pytest.param(
            {"name": "train", "min_resource_version": str(2**128 - 1)},
            ExistingRun("default", "train", "", 2**128 - 1),
            id="version-of-128-bits",
        ),
    ],
)
def test_decodes_a_run_that_exists(key: Any, want: ExistingRun) -> None:
    """A key becomes a reference with the namespace filled in and the version as an integer."""
    item: Any = {"run": key}
    request = pb.ScoreRequest(item=item)
    assert decode.score_question(request, deadline=None).item == want


@pytest.mark.parametrize(
    ("read", "want"),
    [
        pytest.param({}, ReadOptions(deadline=9.0), id="leader-by-default"),
        pytest.param({"consistency": 1}, ReadOptions(deadline=9.0), id="leader"),
        pytest.param({"consistency": 2}, ReadOptions(consistency=Consistency.ANY, deadline=9.0), id="any"),
        pytest.param({"max_view_age": Duration()}, ReadOptions(max_view_age=0.0, deadline=9.0), id="age-zero-is-set"),
        pytest.param(
            {"profile": "p", "max_view_age": Duration(seconds=1, nanos=500_000_001)},
            ReadOptions(profile="p", max_view_age=1.500000001, deadline=9.0),
            id="age-to-the-nanosecond",
        ),
    ],
)
def test_decodes_read_options(read: Any, want: ReadOptions) -> None:
    """Unset and zero differ where they mean different things."""
    request = pb.FilterRequest(item=RUN, read=read)
    assert decode.filter_question(request, deadline=9.0).read == want


def test_decodes_a_filter() -> None:
    """All fields arrive; an absent page size is ten rows."""
    request = pb.FilterRequest(item=RUN, all_plugins=True, page_token=NEXT)
    want = FilterQuestion(TRAIN, all_plugins=True, page_size=10, page_token=NEXT)
    assert decode.filter_question(request, deadline=None) == want
    assert decode.filter_question(pb.FilterRequest(item=RUN, page_size=1000), deadline=None).page_size == 1000


def test_decodes_a_score() -> None:
    """Names keep their order and are looked at once."""
    request = pb.ScoreRequest(item=RUN, limit=3, candidates=["b", "a", "b"])
    assert decode.score_question(request, deadline=None) == ScoreQuestion(TRAIN, limit=3, candidates=("b", "a"))
    assert decode.score_question(pb.ScoreRequest(item=RUN), deadline=None).limit == 10


@pytest.mark.parametrize(
    ("hold", "want"),
    [
        pytest.param(None, 30.0, id="unset"),
        pytest.param(Duration(), 30.0, id="zero"),
        pytest.param(Duration(seconds=120), 120.0, id="longest"),
        pytest.param(Duration(nanos=1), 1e-9, id="a-nanosecond"),
        pytest.param(Duration(seconds=59, nanos=999_999_999), 59.999999999, id="just-under-a-minute"),
    ],
)
def test_decodes_a_hold(hold: Duration | None, want: float) -> None:
    """Zero and unset are thirty seconds; everything else is exact."""
    request = pb.PlanRequest(item=RUN, dry_run=True, hold=hold)
    assert decode.plan_question(request, identity="unix", deadline=None).hold == want


@pytest.mark.parametrize(
    ("identity", "token", "want"),
    [
        pytest.param("unix", "", "unix", id="identity-alone"),
        pytest.param("local", "driver", "local/driver", id="a-token-never-replaces-the-identity"),
    ],
)
def test_decodes_the_owner(identity: str, token: str, want: str) -> None:
    """The owner is who calls, told apart further by the token."""
    request = pb.PlanRequest(item=RUN_WITH_UID, owner_token=token, attempt_id="a1")
    want_question = PlanQuestion(ExistingRun("default", "train", "u"), owner=want, attempt_id="a1")
    assert decode.plan_question(request, identity=identity, deadline=None) == want_question


def test_decodes_a_hypothetical_run_for_a_dry_run() -> None:
    """A manifest becomes JSON bytes."""
    request = pb.PlanRequest(item=MANIFEST, dry_run=True)
    item = decode.plan_question(request, identity="unix", deadline=None).item
    assert isinstance(item, HypotheticalRun)


def test_decodes_a_reserve() -> None:
    """All fields arrive; an absent hold is thirty seconds."""
    request = pb.ReserveRequest(item=RUN_WITH_UID, candidate=PY_1, profile="p", owner_token=NEXT)
    want = ReserveQuestion(
        ExistingRun("default", "train", "u"), CandidateRef("py-1", "c"), "unix/t", 30.0, "p", deadline=9.0
    )
    assert decode.reserve_question(request, identity="unix", deadline=9.0) == want


def test_decodes_a_release() -> None:
    """A reservation is named by its id, and given back by its owner."""
    request = pb.ReleaseRequest(reservation_id="r", owner_token=NEXT)
    assert decode.release_question(request, identity="local") == ReleaseQuestion("r", "local/t")


@pytest.mark.parametrize(
    ("what", "want"),
    [
        pytest.param({"reservation_id": "r"}, "r", id="reservation"),
        pytest.param(
            {"target": {"item": RUN_WITH_UID, "candidate": PY_1}},
            (ExistingRun("default", "train", "u"), CandidateRef("py-1", "c")),
            id="item-and-candidate",
        ),
    ],
)
def test_decodes_a_bind(what: Any, want: Any) -> None:
    """What is bound is a reservation, or an item and a candidate."""
    request = pb.BindRequest(**what, attempt_id="a", owner_token=NEXT)
    assert decode.bind_question(request, identity="unix", deadline=9.0) == BindQuestion(want, "unix/t", "a", 9.0)


def test_a_wrong_plan_of_a_batch_fails_in_its_place() -> None:
    """One wrong request does not end the others."""
    right: Any = {"item": RUN_WITH_UID}
    wrong: Any = {"item": RUN}
    request = pb.PlanBatchRequest(plans=[right, wrong, right])
    first, second, third = decode.plan_batch(request, identity="unix", deadline=9.0)
    assert first == third == PlanQuestion(ExistingRun("default", "train", "u"), "unix", ReadOptions(deadline=9.0))
    assert isinstance(second, Failure)
    assert (second.reason, second.metadata) == (Reason.UID_REQUIRED, {"field": "item.run.uid"})
    assert decode.plan_batch(pb.PlanBatchRequest(), identity="unix", deadline=None) == []


def test_decodes_lists() -> None:
    """Lists have a hundred rows by default; an empty namespace stays empty, for all."""
    runs = decode_inspection.runs_page(inspection_pb.ListRunsRequest(phases=["Running", "Pending"]))
    assert runs == ("", ("Running", "Pending"), 100, "")
    candidates = decode_inspection.candidates_page(
        inspection_pb.ListCandidatesRequest(namespace="a", runtime="py", page_size=5, page_token=NEXT)
    )
    assert candidates == ("a", "py", 5, NEXT)
    assert decode_inspection.namespace_page(inspection_pb.ListPendingRequest()) == ("", 100, "")
    reservations = inspection_pb.ListReservationsRequest(namespace="a", page_size=5, page_token=NEXT)
    assert decode_inspection.namespace_page(reservations) == ("a", 5, NEXT)
