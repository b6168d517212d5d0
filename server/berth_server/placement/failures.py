"""The closed list of what a caller can be told went wrong. `rpc.errors` alone maps it to gRPC codes and details.

"Nothing fits" is not here: it is an answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum


class Reason(Enum):
    """ErrorInfo.reason (AIP-193), as a person reads it in grpcurl."""

    INVALID_FIELD = "INVALID_FIELD"
    INLINE_NOT_ALLOWED = "INLINE_NOT_ALLOWED"
    UID_REQUIRED = "UID_REQUIRED"
    UNKNOWN_ITEM = "UNKNOWN_ITEM"
    UNKNOWN_CANDIDATE = "UNKNOWN_CANDIDATE"
    UNKNOWN_RESERVATION = "UNKNOWN_RESERVATION"
    RESERVATION_CONFLICT = "RESERVATION_CONFLICT"
    STALE_TARGET = "STALE_TARGET"
    STALE_ITEM = "STALE_ITEM"
    STALE_EPOCH = "STALE_EPOCH"
    NOT_LEADER = "NOT_LEADER"
    NOT_ELIGIBLE = "NOT_ELIGIBLE"
    MEMBER_OF_GROUP = "MEMBER_OF_GROUP"
    RESERVED_BY_OTHER = "RESERVED_BY_OTHER"
    BIND_IN_PROGRESS = "BIND_IN_PROGRESS"
    BIND_REFUSED = "BIND_REFUSED"
    ATTEMPT_OVER = "ATTEMPT_OVER"
    NOT_SYNCED = "NOT_SYNCED"
    VIEW_TOO_OLD = "VIEW_TOO_OLD"
    VIEW_BEHIND = "VIEW_BEHIND"
    SHUTTING_DOWN = "SHUTTING_DOWN"
    OVER_LIMIT = "OVER_LIMIT"
    INTERNAL = "INTERNAL"


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One wrong field of a request: its path as in the proto, and one sentence with the fix."""

    field: str
    description: str


class PlacementError(Exception):
    """One reason, one sentence that a person can act on, and the values that it speaks of.

    `metadata` carries every dynamic value of the sentence; `violations` is filled for INVALID_FIELD only.
    """

    def __init__(
        self,
        reason: Reason,
        message: str,
        *,
        metadata: Mapping[str, str] | None = None,
        violations: Sequence[FieldViolation] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.metadata = dict(metadata or {})
        self.violations = tuple(violations)
        self.retry_after = retry_after
