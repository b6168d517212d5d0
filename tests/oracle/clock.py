"""Instants and durations of Kubernetes as exact seconds: a boundary of 15.000 s must not depend on a float.

Instants are RFC 3339 as `metav1.Time` writes them, durations are Go's (`1m30s`). Reads no clock.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INSTANT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)
_DURATION = re.compile(r"([+-]?)((?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)
_PIECE = re.compile(r"(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_MICRO = Fraction(1, 10**6)
_UNIT = {
    "ns": Fraction(1, 10**9),
    "us": _MICRO,
    "µs": _MICRO,
    "μs": _MICRO,
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
}


def seconds(moment: datetime) -> Fraction:
    """Give the exact seconds from the epoch to an aware datetime."""
    return Fraction((moment - _EPOCH) // timedelta(microseconds=1), 10**6)


def parse_instant(text: str | None) -> Fraction | None:
    """Give the exact seconds from the epoch to an RFC 3339 instant, or None when it is missing or unparsable."""
    form = _INSTANT.fullmatch(text or "")
    if form is None:
        return None
    whole, part, sign, hours, minutes = form.groups()
    try:
        offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
        moment = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone(offset))
    except ValueError:
        return None
    return seconds(moment) + Fraction(int(part or 0), 10 ** len(part or ""))


def parse_duration(text: str | None) -> Fraction | None:
    """Give the exact seconds of a Go duration, or None when it is missing or unparsable."""
    form = _DURATION.fullmatch(text or "")
    if form is None:
        return Fraction(0) if text == "0" else None
    pieces = [
        Fraction(int(whole + part or 0), 10 ** len(part)) * _UNIT[unit] for whole, part, unit in _PIECE.findall(form[2])
    ]
    return sum(pieces, Fraction(0)) * (-1 if form[1] == "-" else 1)
