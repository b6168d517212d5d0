"""Amounts at the edges of doubles and of int64, and the many ways to write one amount.

Must not know the rules: it makes texts, and what they mean is the parser's business.
"""

from random import Random
from typing import Any

EDGES = (0, 1, 2**53 - 1, 2**53, 2**53 + 1, 2**62, 2**62 + 1, 2**63 - 1)
EXA = 10**18
UNREADABLE = ("abc", "", "1 Gi", "1_000", "0x10", "NaN", ".", "+", "1e99", "1ki", "9" * 65, "1.2.3")
NEGATIVE = ("-1", "-1k", "-9223372036854775809")
TOO_LARGE = ("9223372036854775808", "10E", "8Ei")
FRACTIONAL = ("0.5", "1500m", "1n", "1e-3", "0.3Ki", "1.5")


def spell(rng: Random, amount: int) -> str:
    """Write an amount in one of the forms that mean exactly that."""
    forms = [str(amount)] * 6 + [
        f"{amount}000m",
        f"{amount}.0",
        f"+{amount}",
        f"0{amount}",
        f"{amount}e0",
        f"{amount}.",
    ]
    for size, suffixes in ((1024, ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")), (1000, ("k", "M", "G", "T", "P", "E"))):
        for power, suffix in enumerate(suffixes, start=1):
            if amount and amount % size**power == 0:
                forms += [f"{amount // size**power}{suffix}"] * (2 * power)
    if amount and amount % 1000 == 0:
        forms += [f"{amount // 1000}e3", f"{amount // 1000}E3"]
    return forms[rng.randrange(len(forms))]


def request_value(rng: Random, amount: int) -> Any:
    """Write a request as text, or now and then as a JSON number, which Kubernetes takes for its text."""
    if amount < 2**53 and rng.random() < 0.15:
        return float(amount) if rng.random() < 0.1 and amount < 2**31 else amount
    return spell(rng, amount)
