"""What an answer of the API server means: a code, a Status body and a header become one `KubeError`. Pure.

For a read any failure may pass. For a write it must be known whether it landed: only a closed list of codes says that
nothing was written, and everything else leaves that open.
"""

from typing import Final

import msgspec

from berth_server.placement.ports import (
    ConflictError,
    GoneError,
    KubeError,
    NotFoundError,
    OutcomeUnknownError,
    RefusedError,
    ThrottledError,
)

REFUSALS: Final = frozenset({400, 401, 403, 405, 413, 415, 422})
"""Besides 404, 409 and 429: the request was judged, and nothing was written."""
DEFAULT_RETRY_AFTER: Final = 1.0
MAX_RETRY_AFTER: Final = 60.0
"""Seconds. Nobody is believed who wants to be left alone for longer."""
_MESSAGE_CHARACTERS: Final = 512


class UnavailableError(KubeError):
    """A read failed and may be tried again, not before `retry_after` seconds (0: whenever)."""

    def __init__(self, message: str, *, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class _Details(msgspec.Struct, rename="camel"):
    retry_after_seconds: int | None = None


class Status(msgspec.Struct):
    """`v1.Status`, as far as it is read. Every field may be missing."""

    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None

    @property
    def retry_after(self) -> float:
        """Seconds that the body asks to wait; 0: it does not."""
        seconds = self.details.retry_after_seconds if self.details is not None else None
        return min(max(float(seconds or 0), 0.0), MAX_RETRY_AFTER)


_statuses: Final = msgspec.json.Decoder(Status)


def status_of(body: bytes | msgspec.Raw) -> Status:
    """Return the Status in a body; an empty one if it is something else."""
    try:
        return _statuses.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return Status()


def read_failure(code: int, body: bytes, retry_after: str | None = None) -> KubeError:
    """Return what a read's answer that is no success means. `retry_after`: the header of that name."""
    status = status_of(body)
    text = _text(code, status)
    match code:
        case 404:
            return NotFoundError(text)
        case 409:
            return ConflictError(text)
        case 410:
            return GoneError(text)
        case _ if code in REFUSALS:
            return RefusedError(text, code=code, reason=status.reason or str(code))
        case _:
            return UnavailableError(text, retry_after=_seconds(retry_after, status))


def write_failure(code: int, body: bytes, retry_after: str | None = None) -> KubeError:
    """Return what a write's answer that is no success means."""
    status = status_of(body)
    text = _text(code, status)
    if code == 404:
        return NotFoundError(text)
    if code == 409:
        return ConflictError(text)
    if code == 429:
        return ThrottledError(text, retry_after=_seconds(retry_after, status) or DEFAULT_RETRY_AFTER)
    if code in REFUSALS:
        return RefusedError(text, code=code, reason=status.reason or str(code))
    return OutcomeUnknownError(text)


def _seconds(header: str | None, status: Status) -> float:
    """The longer of what header and body ask for. A date in the header is not understood and counts as none."""
    from_header = float(header) if header is not None and header.isascii() and header.isdecimal() else 0.0
    return min(max(from_header, status.retry_after), MAX_RETRY_AFTER)


def _text(code: int, status: Status) -> str:
    message = (status.message or "no message")[:_MESSAGE_CHARACTERS]
    return f"{message} ({code} {status.reason})" if status.reason else f"{message} ({code})"
