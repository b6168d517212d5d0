"""The one table from a reason to what a caller sees: gRPC code and google.rpc details (AIP-193).

Everything else that is raised is a bug: the caller gets an id, the log gets the rest. Trailers have a limit (8 KiB by
default), beyond which a client sees a transport error instead of ours: long texts and lists are cut to fit.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import grpc
import structlog
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc import error_details_pb2 as details_pb
from google.rpc import status_pb2
from grpc import StatusCode
from grpc_status import rpc_status

from berth_server.placement.failures import FieldViolation, PlacementError, Reason

DOMAIN: Final = "berth.dev"
_MAX_MESSAGE: Final = 1024  # bytes
_MAX_VALUE: Final = 256  # bytes of one metadata value or one violation's text
_MAX_VIOLATIONS: Final = 2048  # bytes of all violations together
_log = structlog.get_logger(__name__)
Detail = Any  # a message of google.rpc, which comes without types


@dataclass(frozen=True, slots=True)
class _Rule:
    """What one reason becomes. `retry_after` in seconds, where the error itself gives none; None: no RetryInfo."""

    code: StatusCode
    detail: Callable[[PlacementError], Detail] | None = None
    retry_after: float | None = None


def _bad_request(error: PlacementError) -> Detail:
    violations = error.violations
    if not violations and "field" in error.metadata:
        violations = (FieldViolation(error.metadata["field"], error.message),)
    return details_pb.BadRequest(field_violations=_fitting(violations))


def _resource_info(resource_type: str, key: str) -> Callable[[PlacementError], Detail]:
    """Name what is not there; `key`: the metadata value that holds its name."""

    def build(error: PlacementError) -> Detail:
        name = _cut(error.metadata.get(key, ""), _MAX_VALUE)
        namespace = error.metadata.get("namespace")
        return details_pb.ResourceInfo(
            resource_type=resource_type,
            resource_name=f"{namespace}/{name}" if namespace else name,
            description=_cut(error.message, _MAX_VALUE),
        )

    return build


def _quota_failure(error: PlacementError) -> Detail:
    violation = {"subject": error.metadata.get("subject", "server"), "description": _cut(error.message, _MAX_VALUE)}
    return details_pb.QuotaFailure(violations=[violation])


_INVALID: Final = _Rule(StatusCode.INVALID_ARGUMENT, _bad_request)
_ABORTED: Final = _Rule(StatusCode.ABORTED, retry_after=0.1)
_PRECONDITION: Final = _Rule(StatusCode.FAILED_PRECONDITION)
_UNAVAILABLE: Final = _Rule(StatusCode.UNAVAILABLE)

TABLE: Final[Mapping[Reason, _Rule]] = MappingProxyType(
    {
        Reason.INVALID_FIELD: _INVALID,
        Reason.INLINE_NOT_ALLOWED: _INVALID,
        Reason.UID_REQUIRED: _INVALID,
        Reason.UNKNOWN_ITEM: _Rule(StatusCode.NOT_FOUND, _resource_info("kruntimes.io/Run", "name")),
        Reason.UNKNOWN_CANDIDATE: _Rule(StatusCode.NOT_FOUND, _resource_info("Pod", "candidate")),
        Reason.UNKNOWN_RESERVATION: _Rule(
            StatusCode.NOT_FOUND, _resource_info("berth.dev/Reservation", "reservation_id")
        ),
        Reason.RESERVATION_CONFLICT: _ABORTED,
        Reason.STALE_TARGET: _ABORTED,
        Reason.STALE_ITEM: _ABORTED,
        Reason.STALE_EPOCH: _ABORTED,
        Reason.NOT_LEADER: _PRECONDITION,
        Reason.NOT_ELIGIBLE: _PRECONDITION,
        Reason.MEMBER_OF_GROUP: _PRECONDITION,
        Reason.RESERVED_BY_OTHER: _PRECONDITION,
        Reason.BIND_IN_PROGRESS: _PRECONDITION,
        Reason.BIND_REFUSED: _PRECONDITION,
        Reason.ATTEMPT_OVER: _PRECONDITION,
        Reason.NOT_SYNCED: _UNAVAILABLE,
        Reason.VIEW_TOO_OLD: _UNAVAILABLE,
        Reason.VIEW_BEHIND: _UNAVAILABLE,
        Reason.SHUTTING_DOWN: _UNAVAILABLE,
        Reason.OVER_LIMIT: _Rule(StatusCode.RESOURCE_EXHAUSTED, _quota_failure, retry_after=1.0),
        Reason.INTERNAL: _Rule(StatusCode.INTERNAL),
    }
)


def status_of(error: PlacementError) -> grpc.Status:
    """Return code, message and trailing metadata of what `error` says."""
    rule = TABLE[error.reason]
    message = _cut(error.message, _MAX_MESSAGE)
    metadata = {key: _cut(value, _MAX_VALUE) for key, value in error.metadata.items()}
    details = [details_pb.ErrorInfo(reason=error.reason.value, domain=DOMAIN, metadata=metadata)]
    if rule.detail is not None:
        details.append(rule.detail(error))
    retry_after = rule.retry_after if error.retry_after is None else error.retry_after
    if retry_after is not None:
        details.append(_retry_info(retry_after))
    status = status_pb2.Status(code=rule.code.value[0], message=message, details=[_packed(each) for each in details])
    converted: grpc.Status = rpc_status.to_status(status)
    return converted


def status_of_bug(error: Exception, **context: Any) -> grpc.Status:
    """Log an unexpected exception once, with `context`, and return INTERNAL with nothing but the id of that line."""
    error_id = uuid.uuid4().hex[:12]
    _log.error("unexpected error in a call", error_id=error_id, exc_info=error, **context)
    message = f"Internal error {error_id}: report it with this id, the server's log has the rest."
    return status_of(PlacementError(Reason.INTERNAL, message, metadata={"id": error_id}))


def plain_status(code: StatusCode, sentence: str) -> grpc.Status:
    """Return a status without details: one that says of a call what gRPC itself says, in a sentence of ours."""
    status: grpc.Status = rpc_status.to_status(status_pb2.Status(code=code.value[0], message=sentence))
    return status


def _retry_info(seconds: float) -> Detail:
    info = details_pb.RetryInfo()
    info.retry_delay.FromMilliseconds(round(seconds * 1000))
    return info


def _packed(message: Detail) -> AnyMessage:
    packed = AnyMessage()
    packed.Pack(message)
    return packed


def _fitting(violations: Sequence[FieldViolation]) -> list[Detail]:
    """As many violations as the trailers take; the last one counts what is left out."""
    fitting: list[Detail] = []
    room = _MAX_VIOLATIONS
    for index, violation in enumerate(violations):
        row = details_pb.BadRequest.FieldViolation(
            field=_cut(violation.field, _MAX_VALUE), description=_cut(violation.description, _MAX_VALUE)
        )
        room -= row.ByteSize()
        if room < 0:
            rest = f"and {len(violations) - index} more wrong fields"
            fitting.append(details_pb.BadRequest.FieldViolation(field="...", description=rest))
            break
        fitting.append(row)
    return fitting


def _cut(text: str, most: int) -> str:
    raw = text.encode()
    if len(raw) <= most:
        return text
    return raw[: most - 3].decode(errors="ignore") + "..."
