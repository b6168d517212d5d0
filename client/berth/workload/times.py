"""metav1.Time: RFC 3339 in and out, whole seconds, UTC."""

import re
from datetime import UTC, datetime

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)


def parse_time(text: str) -> datetime | None:
    """Read an RFC 3339 time as UTC, cut to whole seconds as the API server stores it; None if it is none."""
    if not _RFC3339.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text).replace(microsecond=0).astimezone(UTC)
    except (ValueError, OverflowError):  # the 30th of February; a year that leaves the calendar in UTC
        return None


def format_time(time: datetime) -> str:
    """Write a time as RFC 3339 in UTC, in whole seconds.

    Raises:
        ValueError: the time has no time zone.
    """
    if time.tzinfo is None:
        raise ValueError(f"{time.isoformat()} needs a time zone")
    return time.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat() + "Z"
