"""What can be wrong with an object that somebody else wrote, as values.

An unsupported value may well be right for a newer version of the API: the object waits. An invalid one is wrong by
every rule known: the object fails. So one unsupported value anywhere outweighs every invalid one, and a parser has to
read on after the first fault: it reports to a collector instead of raising. Nothing here decides what is done about it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import msgspec

_MESSAGE_BYTES: Final = 1024
_PATH_BYTES: Final = 384
"""A path holds keys that users choose; it must leave room for the value."""


class FaultReason(StrEnum):
    """The bounded word by which a fault is reported and counted."""

    UNSUPPORTED_FIELD = "UnsupportedField"
    INVALID_RESOURCES = "InvalidResources"
    INVALID_AFFINITY = "InvalidAffinity"
    INVALID_WORKSPACE_REFERENCE = "InvalidWorkspaceReference"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault at one path. The message names the path and is at most 1 KiB of UTF-8."""

    reason: FaultReason
    path: str
    message: str


class UnsupportedField(Fault):
    """A value that this version does not know."""

    __slots__ = ()


class InvalidSpec(Fault):
    """A value that is wrong by every rule known."""

    __slots__ = ()


class Faults:
    """Collects the faults of one object, in the order in which they are found. Owned by one parse."""

    __slots__ = ("_invalid", "_unsupported")

    def __init__(self) -> None:
        self._unsupported: UnsupportedField | None = None
        self._invalid: InvalidSpec | None = None

    def unsupported(self, path: str, value: object) -> None:
        """Report a value that this version does not know; it is shown as JSON."""
        if self._unsupported is None:
            path = _cut(path, _PATH_BYTES)
            message = _cut(
                f"{path}: this version does not support the value {shown(value, _MESSAGE_BYTES)}", _MESSAGE_BYTES
            )
            self._unsupported = UnsupportedField(FaultReason.UNSUPPORTED_FIELD, path, message)

    def invalid(self, reason: FaultReason, path: str, problem: str) -> None:
        """Report a value that is wrong; problem says what is, as the end of a sentence that starts with the path."""
        if self._invalid is None:
            path = _cut(path, _PATH_BYTES)
            self._invalid = InvalidSpec(reason, path, _cut(f"{path}: {problem}", _MESSAGE_BYTES))

    def first(self) -> Fault | None:
        """The first unsupported value, else the first invalid one, else None."""
        return self._unsupported or self._invalid


def shown(value: object, limit: int = 128) -> str:
    """The value as JSON, cut to that many bytes; what JSON cannot express is named by its type. Never raises."""
    try:
        return _cut(msgspec.json.encode(value).decode(), limit)
    except (TypeError, ValueError, RecursionError):  # too deep, too many digits, a lone surrogate
        return f"of type {type(value).__name__}"


def _cut(text: str, limit: int) -> str:
    """The text in at most that many bytes of UTF-8, an ellipsis in place of what is left out."""
    data = text.encode(errors="replace")
    if len(data) <= limit:
        return data.decode()
    return data[: limit - 3].decode(errors="ignore") + "…"
