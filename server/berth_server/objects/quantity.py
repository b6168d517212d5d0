"""Kubernetes quantities as exact numbers.

Requests and capacities are compared and summed, so a quantity must be neither rounded nor capped, and text from users
must not cost more than linear time: Kubernetes' own parser hangs on an exponent such as 2E6024865272343.
This module must not decide what a quantity may be used for, and must not touch floats.
"""

import re
from fractions import Fraction
from functools import lru_cache
from typing import Final

MAX_UNITS: Final = 2**62
"""Sums of capacity or use are clamped here: two of them still fit an int64."""

MAX_REQUEST: Final = 2**63 - 1
"""The largest request that is legal. Above MAX_UNITS it fits nowhere."""

_MAX_LENGTH: Final = 64
_MAX_EXPONENT: Final = 32

# [0-9] and never \d, int() or Decimal() on unchecked text: those take digits of other scripts, spaces and underscores.
_QUANTITY: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<decimals>[0-9]*))?"
    r"(?:(?P<binary>[KMGTPE]i)|(?P<decimal>[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]+))?",
)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def parse_quantity(text: str) -> int | Fraction | None:
    """The exact value of a quantity, an int whenever it is whole, or None if it is unparsable.

    The grammar is that of ParseQuantity in k8s.io/apimachinery: sign, digits, one suffix (n u m k M G T P E, Ki to Ei,
    or an exponent). Other than there, more than 64 characters, an exponent beyond 32 either way, and a number without
    a digit are unparsable, and the value is neither rounded up to 10^-9 nor capped at 2^63-1.
    """
    # The length is checked outside the cache, so that the cache cannot be filled with megabytes.
    return _parse(text) if len(text) <= _MAX_LENGTH else None


def whole_units(text: str) -> int | None:
    """The quantity as a count of whole units, or None if it is unparsable, negative or fractional. Not clamped."""
    value = parse_quantity(text)
    return value if isinstance(value, int) and value >= 0 else None


@lru_cache(maxsize=4096)
def _parse(text: str) -> int | Fraction | None:
    if text.isdigit() and text.isascii():
        return int(text)
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    decimals = match["decimals"] or ""
    digits = match["whole"] + decimals
    if not digits:
        return None
    mantissa = -int(digits) if match["sign"] == "-" else int(digits)
    if match["binary"]:
        mantissa <<= _BINARY[match["binary"]]
    exponent = _DECIMAL[match["decimal"]] if match["decimal"] else int(match["exponent"] or 0)
    if abs(exponent) > _MAX_EXPONENT:
        return None
    return _scaled(mantissa, exponent - len(decimals))


def _scaled(mantissa: int, exponent: int) -> int | Fraction:
    """Mantissa times 10^exponent."""
    power: int = 10 ** abs(exponent)
    if exponent >= 0:
        return mantissa * power
    value = Fraction(mantissa, power)
    return value.numerator if value.denominator == 1 else value
