"""What a call came to when it did not come to an answer: google.rpc details as plain values.

"Nothing fits" is an answer, never an error.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2 as details_pb
from google.rpc import status_pb2

DETAILS_KEY: Final = "grpc-status-details-bin"


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One wrong field of the request: its path as in the proto, and what it must be."""

    field: str
    description: str


class BerthError(Exception):
    """A call that failed. `str()` is one sentence that a person can act on.

    `code` is gRPC's. `reason` is Berth's, from a closed list such as UNKNOWN_ITEM; it is empty when the failure is not
    the server's word but that of the way to it (no connection, out of time). `metadata` holds the values that the
    sentence speaks of; `violations` every wrong field; `retry_after` seconds, where the server says when to try again.
    """

    def __init__(
        self,
        code: grpc.StatusCode,
        message: str,
        *,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        violations: Sequence[FieldViolation] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.reason = reason
        self.metadata = dict(metadata or {})
        self.violations = tuple(violations)
        self.retry_after = retry_after

    @classmethod
    def from_rpc_error(cls, error: grpc.aio.AioRpcError) -> "BerthError":
        """Read what gRPC raised. Details that are missing or unreadable leave their attributes empty."""
        failure = cls(error.code(), error.details() or error.code().name)
        for packed in _details(error):
            failure._read(packed)
        return failure

    def _read(self, packed: Any) -> None:
        info, request, retry = details_pb.ErrorInfo(), details_pb.BadRequest(), details_pb.RetryInfo()
        if packed.Unpack(info):
            self.reason = info.reason
            self.metadata = dict(info.metadata)
        elif packed.Unpack(request):
            self.violations = tuple(FieldViolation(each.field, each.description) for each in request.field_violations)
        elif packed.Unpack(retry):
            self.retry_after = retry.retry_delay.ToNanoseconds() / 1e9


def _details(error: grpc.aio.AioRpcError) -> Sequence[Any]:
    for key, value in error.trailing_metadata() or ():
        if key == DETAILS_KEY:
            try:
                details: Sequence[Any] = status_pb2.Status.FromString(value).details
            except DecodeError:
                break
            return details
    return ()
