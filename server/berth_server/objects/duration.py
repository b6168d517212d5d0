"""Go durations such as 1h30m: the form in which Kubernetes objects carry a time span.

This module must not decide what an absent or negative span means; its callers differ in that.
"""

import re
from functools import lru_cache
from typing import Final

_MAX_LENGTH: Final = 64
_MAX_NANOSECONDS: Final = 2**63 - 1
_NANOSECONDS: Final = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,  # micro sign
    "\u03bcs": 10**3,  # Greek mu
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_UNIT: Final = "|".join(_NANOSECONDS)
_PART: Final = re.compile(rf"(?P<whole>[0-9]*)(?:\.(?P<decimals>[0-9]*))?(?P<unit>{_UNIT})")
_DURATION: Final = re.compile(rf"[+-]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:{_UNIT}))+)")


def parse_duration(text: str) -> float | None:
    """Seconds of a duration as Go's time.ParseDuration reads it, negative ones included, or None if it is unparsable.

    More than 64 characters, or 2^63 nanoseconds, are unparsable.
    """
    # The length is checked outside the cache, so that the cache cannot be filled with megabytes.
    return _parse(text) if len(text) <= _MAX_LENGTH else None


@lru_cache(maxsize=1024)
def _parse(text: str) -> float | None:
    if not _DURATION.fullmatch(text):
        return None
    total = sum(_nanoseconds(part) for part in _PART.finditer(text))
    if total > _MAX_NANOSECONDS:
        return None
    return (-total if text[0] == "-" else total) / 10**9


def _nanoseconds(part: re.Match[str]) -> int:
    decimals = part["decimals"] or ""
    denominator: int = 10 ** len(decimals)
    return int(part["whole"] + decimals) * _NANOSECONDS[part["unit"]] // denominator
