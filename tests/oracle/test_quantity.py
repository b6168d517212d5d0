"""The parser of quantities against values that Kubernetes' own parser gives, and the texts on which it must differ."""

from fractions import Fraction

import pytest

from tests.oracle.clock import parse_duration, parse_instant
from tests.oracle.quantity import parse_quantity


@pytest.mark.parametrize(
    ("text", "want_value"),
    [
        ("0", 0),
        ("7", 7),
        ("007", 7),
        ("+1", 1),
        ("-1", -1),
        ("-0", 0),
        ("5.", 5),
        (".5", Fraction(1, 2)),
        ("1.50", Fraction(3, 2)),
        ("1n", Fraction(1, 10**9)),
        ("1u", Fraction(1, 10**6)),
        ("100m", Fraction(1, 10)),
        ("1000m", 1),
        ("2k", 2000),
        ("3M", 3 * 10**6),
        ("1G", 10**9),
        ("1T", 10**12),
        ("1P", 10**15),
        ("1E", 10**18),
        ("10E", 10**19),
        ("1Ki", 1024),
        ("1.5Ki", 1536),
        ("0.3Ki", Fraction(3072, 10)),
        ("-2Mi", -(2**21)),
        ("1Gi", 2**30),
        ("1Ti", 2**40),
        ("1Pi", 2**50),
        ("8Ei", 2**63),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1E+3", 1000),
        ("25e-1", Fraction(5, 2)),
        ("1e32", 10**32),
        ("1e-32", Fraction(1, 10**32)),
        ("1e0032", 10**32),
        ("9" * 64, 10**64 - 1),
        ("9223372036854775807", 2**63 - 1),
        ("0.1n", Fraction(1, 10**10)),
    ],
)
def test_parse_quantity(text: str, want_value: Fraction) -> None:
    """A quantity has one exact value, with neither rounding nor cap."""
    assert parse_quantity(text) == want_value


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "1 ", " 1", "1\n", "1 Gi", "1_000", "\uff11", "0x10", "NaN", "Infinity", "abc", "--1", "1.2.3"),
        *("1ki", "1K", "1mi", "1i", "1Zi", "1e", "1e+", "1e1.5", "1E3Ki", "1kk", "1k3", "1+3", "1m-3"),
        *(".", "+", "-", "+.", "Ki", "m", "E", "e5", "9" * 65, "1e33", "1e-33", "1e999999999", "2E6024865272343"),
    ],
)
def test_unparsable_quantity(text: str) -> None:
    """What is outside the grammar, or has no digit, 65 characters or an exponent beyond 32, is no quantity."""
    assert parse_quantity(text) is None


@pytest.mark.parametrize(
    ("text", "want_seconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:00:00-01:00", 0),
        ("1970-01-01T00:00:15.000000001Z", 15 + Fraction(1, 10**9)),
        ("2026-03-01T12:00:00Z", 1772366400),
        (None, None),
        ("", None),
        ("yesterday", None),
        ("2026-03-01", None),
        ("2026-03-01 12:00:00Z", None),
        ("2026-03-01T12:00:00", None),
        ("2026-02-30T12:00:00Z", None),
    ],
)
def test_parse_instant(text: str | None, want_seconds: Fraction | None) -> None:
    """An instant is RFC 3339 with a zone, exact below the microsecond."""
    assert parse_instant(text) == want_seconds


@pytest.mark.parametrize(
    ("text", "want_seconds"),
    [
        ("0", 0),
        ("0s", 0),
        ("2s", 2),
        ("1m30s", 90),
        ("1.5h", 5400),
        ("250ms", Fraction(1, 4)),
        ("1us1ns", Fraction(1001, 10**9)),
        ("-1s", -1),
        (None, None),
        ("", None),
        ("5", None),
        ("1d", None),
        ("s", None),
    ],
)
def test_parse_duration(text: str | None, want_seconds: Fraction | None) -> None:
    """A duration is one of Go's."""
    assert parse_duration(text) == want_seconds
