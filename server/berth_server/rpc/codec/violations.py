"""Collects every wrong field of one request, so that a caller mends all of them at once.

This module must not know any message: it sees paths and sentences only.
"""

from typing import TypeVar

from berth_server.placement.failures import FieldViolation, PlacementError, Reason

T = TypeVar("T")


class Violations:
    """What is wrong with one request. Filled while it is decoded, then asked once with `passed`."""

    __slots__ = ("_found", "_reason")

    def __init__(self) -> None:
        self._found: list[FieldViolation] = []
        self._reason = Reason.UID_REQUIRED

    def add(self, field: str, description: str) -> None:
        """Record that `field` (its path as in the proto) is wrong; `description` says what it must be."""
        self._found.append(FieldViolation(field, description))
        self._reason = Reason.INVALID_FIELD

    def add_missing_uid(self, field: str) -> None:
        """Record a missing uid: by itself a reason of its own, beside other faults one more of them."""
        self._found.append(FieldViolation(field, "is required in a call that changes something; take it from a read"))

    def passed(self, value: T) -> T:
        """Return `value` if nothing was recorded. Raises PlacementError with every violation in it."""
        if not self._found:
            return value
        first = self._found[0]
        message = f"{first.field}: {first.description}."
        if len(self._found) > 1:
            message = f"{len(self._found)} fields are wrong; the first is {message}"
        raise PlacementError(self._reason, message, metadata={"field": first.field}, violations=self._found)
