"""The table from reasons to what a client sees, over the wire."""

import grpc
import grpc.aio
import pytest
import structlog.testing

from berth.v1 import placement_service_pb2 as pb
from berth.v1 import resources_pb2
from berth_server.placement.failures import FieldViolation, PlacementError, Reason
from tests.unit.rpc.rig import Rig, details_of, violations_of

SCORE = pb.ScoreRequest(item=resources_pb2.Item(run=resources_pb2.ObjectKey(name="train")))
WANT_CODES = {
    "INVALID_ARGUMENT": {"INVALID_FIELD", "INLINE_NOT_ALLOWED", "UID_REQUIRED"},
    "NOT_FOUND": {"UNKNOWN_ITEM", "UNKNOWN_CANDIDATE", "UNKNOWN_RESERVATION"},
    "ABORTED": {"RESERVATION_CONFLICT", "STALE_TARGET", "STALE_ITEM", "STALE_EPOCH"},
    "FAILED_PRECONDITION": {
        "NOT_LEADER",
        "NOT_ELIGIBLE",
        "MEMBER_OF_GROUP",
        "RESERVED_BY_OTHER",
        "BIND_IN_PROGRESS",
        "BIND_REFUSED",
        "ATTEMPT_OVER",
    },
    "UNAVAILABLE": {"NOT_SYNCED", "VIEW_TOO_OLD", "VIEW_BEHIND", "SHUTTING_DOWN"},
    "RESOURCE_EXHAUSTED": {"OVER_LIMIT"},
    "INTERNAL": {"INTERNAL"},
}
WANT_DETAILS = {
    "INVALID_ARGUMENT": {"BadRequest"},
    "NOT_FOUND": {"ResourceInfo"},
    "ABORTED": {"RetryInfo"},
    "RESOURCE_EXHAUSTED": {"QuotaFailure", "RetryInfo"},
}


@pytest.mark.parametrize("reason", Reason)
async def test_maps_every_reason(rig: Rig, reason: Reason) -> None:
    """Each reason has one code, ErrorInfo, and the detail that belongs to the code."""
    rig.service.failure = PlacementError(reason, "This is what to do.", metadata={"run": "default/train"})
    error = await _failure(rig)
    want_code = next(code for code, reasons in WANT_CODES.items() if reason.value in reasons)
    assert error.code().name == want_code
    assert error.details() == "This is what to do."
    details = details_of(error)
    info = details.pop("ErrorInfo")
    assert (info.reason, info.domain, dict(info.metadata)) == (reason.value, "berth.dev", {"run": "default/train"})
    assert set(details) == WANT_DETAILS.get(want_code, set())
    assert rig.handled("Score", want_code) == 1


@pytest.mark.parametrize(
    ("reason", "metadata", "want"),
    [
        pytest.param(
            Reason.UNKNOWN_ITEM,
            {"namespace": "a", "name": "train"},
            ("kruntimes.io/Run", "a/train"),
            id="run",
        ),
        pytest.param(
            Reason.UNKNOWN_CANDIDATE, {"namespace": "a", "candidate": "py-1"}, ("Pod", "a/py-1"), id="candidate"
        ),
        pytest.param(
            Reason.UNKNOWN_RESERVATION, {"reservation_id": "id"}, ("berth.dev/Reservation", "id"), id="reservation"
        ),
    ],
)
async def test_names_what_was_not_found(
    rig: Rig, reason: Reason, metadata: dict[str, str], want: tuple[str, str]
) -> None:
    """ResourceInfo says which kind of thing, and its name."""
    rig.service.failure = PlacementError(reason, "Not there.", metadata=metadata)
    info = details_of(await _failure(rig))["ResourceInfo"]
    assert (info.resource_type, info.resource_name, info.description) == (*want, "Not there.")


@pytest.mark.parametrize(
    ("reason", "retry_after", "want"),
    [
        pytest.param(Reason.STALE_TARGET, None, 0.1, id="conflicts-soon"),
        pytest.param(Reason.OVER_LIMIT, None, 1.0, id="limits-later"),
        pytest.param(Reason.OVER_LIMIT, 2.5, 2.5, id="as-the-service-says"),
        pytest.param(Reason.VIEW_BEHIND, 0.25, 0.25, id="also-where-there-is-no-default"),
    ],
)
async def test_says_when_to_try_again(rig: Rig, reason: Reason, retry_after: float | None, want: float) -> None:
    """RetryInfo carries what the error says, else the table's value."""
    rig.service.failure = PlacementError(reason, "Later.", retry_after=retry_after)
    assert details_of(await _failure(rig))["RetryInfo"].retry_delay.ToNanoseconds() == want * 1e9


async def test_passes_violations_of_the_service_on(rig: Rig) -> None:
    """What only the service can find wrong looks the same as what the decoder finds."""
    violations = [FieldViolation("item.manifest.spec", "must be an object")]
    rig.service.failure = PlacementError(Reason.INVALID_FIELD, "Wrong.", violations=violations)
    assert violations_of(await _failure(rig)) == [("item.manifest.spec", "must be an object")]


async def test_a_bug_tells_the_caller_an_id_and_the_log_the_rest(rig: Rig) -> None:
    """The text of an exception may hold what the caller must not see."""
    rig.service.failure = ValueError("the password is swordfish")
    with structlog.testing.capture_logs() as lines:
        error = await _failure(rig)
    assert error.code() is grpc.StatusCode.INTERNAL
    info = details_of(error)["ErrorInfo"]
    assert info.reason == "INTERNAL"
    assert info.metadata["id"] in (error.details() or "")
    assert "swordfish" not in repr(error.trailing_metadata()) + repr(error)
    assert [line["error_id"] for line in lines] == [info.metadata["id"]]
    assert lines[0]["exc_info"] is rig.service.failure
    assert lines[0]["method"] == "/berth.v1.PlacementService/Score"


@pytest.mark.parametrize("character", ["x", "\u00e9", "\u20ac", "\U0001f600"])
async def test_long_texts_are_cut_to_what_trailers_carry(rig: Rig, character: str) -> None:
    """However long message, metadata and violations are, the client gets our error with readable details."""
    text = character * 5000
    violations = [FieldViolation(text, text)] * 100
    metadata = {"a": text, "b": text}
    rig.service.failure = PlacementError(Reason.INVALID_FIELD, text, metadata=metadata, violations=violations)
    error = await _failure(rig)
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert (error.details() or "").startswith(character * 100)
    assert (error.details() or "").endswith("...")
    *shown, (_, description) = violations_of(error)
    assert shown
    assert description == f"and {100 - len(shown)} more wrong fields"


async def _failure(rig: Rig) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await rig.placement.Score(SCORE)
    return caught.value
