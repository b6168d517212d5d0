"""Kubernetes quantities as exact rationals, so that the oracle never meets a rounding.

The grammar is that of Kubernetes' `ParseQuantity`: a sign, digits with at most one point, and one suffix: decimal
(n, u, m, k, M, G, T, P, E), binary (Ki to Ei) or an exponent (`e3`, `E-3`). Unlike there nothing is rounded to nano
and nothing is capped, and three texts that it accepts or hangs on are unparsable: more than 64 characters, an exponent
beyond ±32, and a number without a digit. Must not use `int()` or `Decimal()` on unchecked text: both accept `1_000`,
spaces and digits of other scripts.
"""

import re
from fractions import Fraction

MAX_CHARACTERS = 64
MAX_EXPONENT = 32

_FORM = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?:(?P<suffix>[numkMGTPE]|[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]+))?"
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def parse_quantity(text: str) -> Fraction | None:
    """Give the exact value of a quantity, or None when it is unparsable."""
    form = _FORM.fullmatch(text)
    if form is None or len(text) > MAX_CHARACTERS:
        return None
    whole, part = form["whole"], form["part"] or ""
    if not whole + part:
        return None
    exponent = int(form["exponent"] or "0")
    if abs(exponent) > MAX_EXPONENT:
        return None
    number = Fraction(int(whole + part), 10 ** len(part))
    sign = -1 if form["sign"] == "-" else 1
    return sign * number * _multiplier(form["suffix"] or "") * Fraction(10) ** exponent


def _multiplier(suffix: str) -> Fraction:
    if suffix in _BINARY:
        return Fraction(2) ** _BINARY[suffix]
    return Fraction(10) ** _DECIMAL.get(suffix, 0)
