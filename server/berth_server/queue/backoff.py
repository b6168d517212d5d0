"""How long a key stays away after a failure."""

from collections.abc import Callable
from typing import Final

Jitter = Callable[[], float]
"""Returns a number in [0, 1)."""
BASE: Final = 1.0
LIMIT: Final = 10.0
_JITTER_SHARE: Final = 0.1
_DOUBLINGS: Final = 4
"""Enough to pass LIMIT. The count is not bounded, and 2.0**1024 overflows."""


def backoff(failures: int, jitter: Jitter) -> float:
    """Return the seconds after the n-th failure in a row, n from 1: min(10, 2^(n-1)), less up to a tenth."""
    full = min(LIMIT, BASE * 2.0 ** min(failures - 1, _DOUBLINGS))
    return full * (1 - _JITTER_SHARE * jitter())
