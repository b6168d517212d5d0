"""RFC 3339 instants: the form in which Kubernetes objects carry a point in time.

Strict as Go's time.Parse is, so that what the API server refuses is not understood here in some other way. All instants
are UTC and exact to the microsecond, the unit of meta/v1 MicroTime. This module must not read a clock.
"""

import re
from datetime import UTC, datetime
from typing import Final

_TIMESTAMP: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}"
    r"(?:\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)


def parse_time(text: str) -> datetime | None:
    """The instant in UTC, or None if it is not RFC 3339 (capital T and Z, with an offset) or outside of years 1..9999.

    A fraction has up to nine digits; what is finer than a microsecond is cut off. A leap second is unparsable as in Go.
    """
    if not _TIMESTAMP.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def format_time(instant: datetime) -> str:
    """The aware instant in UTC: whole seconds as meta/v1 Time is written, else six decimals as MicroTime is.

    `parse_time` gives it back unchanged. Raises ValueError for a naive datetime, which names no instant.
    """
    if instant.tzinfo is None:
        raise ValueError("a naive datetime names no instant")
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
