"""Kubernetes quantities as exact rationals, so that the oracle never meets a rounding.

The grammar is that of Kubernetes' `ParseQuantity`: a sign, digits with at most one point, and one suffix: decimal
(n, u, m, k, M, G, T, P, E), binary (Ki to Ei) or an exponent (`e3`, `E-3`). Unlike there nothing is rounded to nano
and nothing is capped, and three texts that it accepts or hangs on are unparsable: more than 64 characters, an exponent
beyond ±32, and a number without a digit. Must not use `int()` or `Decimal()` on unchecked text: both accept `1_000`,
spaces and digits of other scripts.
"""

import re
from fractions import Fraction
from functools import cache

MAX_CHARACTERS = 64
MAX_EXPONENT = 32

_FORM = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?:(?P<suffix>[numkMGTPE]|[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]+))?"
)
_TENS = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_TWOS = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


@cache
def parse_quantity(text: str) -> Fraction | None:
    """Give the exact value of a quantity, or None when it is unparsable."""
    form = _FORM.fullmatch(text)
    if form is None or len(text) > MAX_CHARACTERS:
        return None
    digits = form["whole"] + (form["part"] or "")
    exponent = int(form["exponent"] or 0)
    if not digits or abs(exponent) > MAX_EXPONENT:
        return None
    tens = _TENS.get(form["suffix"], 0) + exponent - len(form["part"] or "")
    twos = _TWOS.get(form["suffix"], 0)
    scale: Fraction = 2**twos * Fraction(10) ** tens
    return int(form["sign"] + digits) * scale
