"""Quantities are exact, and differ from Kubernetes' own in the listed cases only.

The table beside golden/quantities/main.go holds what Kubernetes' ParseQuantity made of each text.
"""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from berth_server.objects.quantity import MAX_REQUEST, parse_quantity, whole_units

TABLE = Path(__file__).parents[2] / "golden" / "quantities" / "quantities.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]

NO_DIGIT = "+ - . +. -. e5 E5 E Ki k +m -Ki .Ki .e3 +E+5 n u M P .Ti -.Gi".split()  # noqa: SIM905
"""Kubernetes reads a number without a digit as 0; a request that says nothing is a mistake."""

TOO_LONG = [
    "0" * 62 + "1Ki",
    "9" * 65,
    "0" * 65,
    "0." + "3" * 63,
    "1." + "0" * 63,
    "1e" + "0" * 62 + "5",
]
"""More than 64 characters: the cost of a text has a bound."""

FAR_EXPONENT = """
    1e33 1e+33 1e-33 1e99 1e-99 0e33 0e99 0e-33 1e100 1e1000 1e2147483647 1e-2147483649 1e4294967296 1e4294967299
    1e9223372036854775807 1e-99999 -12e+52
""".split()  # noqa: SIM905
"""An exponent beyond 32: Kubernetes wraps it at 32 bits, and hangs on some."""

ROUNDED = """
    1.00000000000000000001Ki 0.9999999999 0.99999999999999999999 1.0000000001 -0.9999999999 0.1n 0.5n 0.0001u
    1e-10 -1e-10 15e-10 1e-31 1e-32 .5n +.5n -.5n 0.25n +0.25n -0.25n 1234.5678n +1234.5678n -1234.5678n
    1234.5678u +1234.5678u -1234.5678u .5e-9 +.5e-9 -.5e-9 0.25e-9 +0.25e-9 -0.25e-9 1234.5678e-9 +1234.5678e-9
    -1234.5678e-9 -0.2e-9 -123.5678n +234.5678e-9 -1234.567n
""".split()  # noqa: SIM905
ROUNDED.append("0." + "3" * 62)
"""Kubernetes rounds away from zero to 10^-9, and so reads 0.9999999999 as 1."""

CAPPED: dict[str, int | Fraction] = {
    "8Ei": 2**63,
    "-8Ei": -(2**63),
    "8192Pi": 2**63,
    "9007199254740992Ki": 2**63,
    "-9Ei": -9 * 2**60,
    "12Ei": 12 * 2**60,
    "+12Ei": 12 * 2**60,
    "-12Ei": -12 * 2**60,
    "16Ei": 2**64,
    "-18Ei": -18 * 2**60,
    "9223372036854775807Ki": MAX_REQUEST * 1024,
    "1234.5678Ei": Fraction(12345678, 10000) * 2**60,
    "+1234.5678Ei": Fraction(12345678, 10000) * 2**60,
    "-1234.5678Ei": Fraction(-12345678, 10000) * 2**60,
}
"""Kubernetes caps binary suffixes at 2^63-1; whoever asks for more must be told, not served less."""


def kubernetes_value(row: dict[str, Any]) -> Fraction | None:
    """The value in the table; those given with an exponent (beyond 100) are all exceptions."""
    if not row["accepted"]:
        return None
    mantissa, _, exponent = row["value"].partition("e")
    return Fraction(0) if exponent else Fraction(mantissa)


def rounded_to_nano(value: Fraction) -> Fraction:
    """The value rounded away from zero to 10^-9."""
    return Fraction(math.ceil(abs(value) * 10**9), 10**9) * (1 if value > 0 else -1)


def test_the_table_is_the_whole_one() -> None:
    """The table has its hundreds of rows, accepted, refused and hanging ones."""
    assert len(ROWS) > 1000
    assert sum(row["accepted"] for row in ROWS) > 400
    assert sum(not row["accepted"] for row in ROWS) > 400
    assert sum("hangs" in row for row in ROWS) >= 3


def test_differs_from_kubernetes_in_the_listed_texts_only() -> None:
    """Every text has Kubernetes' value, except those that are listed with a reason, and each of these does differ."""
    differing = {row["text"] for row in ROWS if parse_quantity(row["text"]) != kubernetes_value(row)}
    assert differing == {*NO_DIGIT, *TOO_LONG, *FAR_EXPONENT, *ROUNDED, *CAPPED}


@pytest.mark.parametrize("text", [*NO_DIGIT, *TOO_LONG, *FAR_EXPONENT])
def test_refuses_what_kubernetes_reads_by_accident(text: str) -> None:
    """No digit, too long, and an exponent out of bounds are unparsable."""
    assert parse_quantity(text) is None


@pytest.mark.parametrize("text", ROUNDED)
def test_does_not_round(text: str) -> None:
    """The value is exact: finer than 10^-9, and Kubernetes' value is what rounding makes of it."""
    theirs = next(kubernetes_value(row) for row in ROWS if row["text"] == text)
    ours = parse_quantity(text)
    assert isinstance(ours, Fraction)
    assert (ours * 10**9).denominator > 1
    assert rounded_to_nano(ours) == theirs


@pytest.mark.parametrize(("text", "want"), CAPPED.items())
def test_does_not_cap(text: str, want: int | Fraction) -> None:
    """Values beyond 2^63-1 keep their size, so that a caller can refuse them."""
    assert parse_quantity(text) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("2", 2, id="plain"),
        pytest.param("007", 7, id="leading zeros"),
        pytest.param("1000m", 1, id="whole in milli"),
        pytest.param("1.5k", 1500, id="whole by its suffix"),
        pytest.param("0.5Ki", 512, id="whole by a binary suffix"),
        pytest.param("1e3", 1000, id="exponent"),
        pytest.param("1E", 10**18, id="exa"),
        pytest.param("1Ei", 2**60, id="exbi"),
        pytest.param("-0", 0, id="minus zero"),
        pytest.param("9223372036854775808", 2**63, id="above int64"),
        pytest.param("1500m", None, id="fractional"),
        pytest.param("0.9999999999", None, id="fractional below what Kubernetes resolves"),
        pytest.param("-1", None, id="negative"),
        pytest.param("-1Ki", None, id="negative with a suffix"),
        pytest.param("abc", None, id="garbage"),
        pytest.param("", None, id="empty"),
        pytest.param("1_000", None, id="underscore"),
        pytest.param("\uff11", None, id="fullwidth digit"),
        pytest.param("1\n", None, id="newline at the end"),
    ],
)
def test_whole_units(text: str, want: int | None) -> None:
    """Whole units are an int, and nothing but a whole number from 0 up has any."""
    units = whole_units(text)
    assert units == want
    assert type(units) is type(want)


@pytest.mark.parametrize("text", ["9" * 10**6, "1e" + "9" * 10**6, "0." + "0" * 10**6 + "1", "k" * 10**6])
def test_a_megabyte_costs_nothing(text: str) -> None:
    """Length is judged first: int() would raise or take quadratic time."""
    assert parse_quantity(text) is None


DIGITS = st.text("0123456789", max_size=15)
SUFFIXES = {
    "": Fraction(1),
    **{
        suffix: Fraction(10) ** (3 * (power - 3))
        for power, suffix in enumerate(["n", "u", "m", "", "k", "M", "G", "T", "P", "E"])
    },
    **{f"{suffix}i": Fraction(1024) ** (power + 1) for power, suffix in enumerate("KMGTPE")},
    **{
        f"{letter}{sign}{n}": Fraction(10) ** int(f"{sign}{n}")
        for letter in "eE"
        for sign in ("", "+", "-")
        for n in (0, 7, 32)
    },
}


@given(st.sampled_from(["", "+", "-"]), DIGITS, st.none() | DIGITS, st.sampled_from(sorted(SUFFIXES)))
def test_value_is_that_of_its_parts(sign: str, whole: str, decimals: str | None, suffix: str) -> None:
    """Sign, digits and suffix multiply exactly, in every combination; a whole value is an int."""
    text = sign + whole + ("" if decimals is None else f".{decimals}") + suffix
    digits = whole + (decimals or "")
    value = parse_quantity(text)
    if not digits:
        assert value is None
    else:
        want = int(f"{sign}{digits}") * SUFFIXES[suffix] / 10 ** len(decimals or "")
        assert value == want
        assert isinstance(value, int) is (want.denominator == 1)


@given(st.text() | st.text("0123456789.+-eEinumkKMGTP _\uff11", max_size=70))
@example("1e" + "1" * 62)
def test_any_text_has_an_answer(text: str) -> None:
    """No text raises, and what is accepted is plain ASCII of at most 64 characters with a digit."""
    if parse_quantity(text) is not None:
        assert text.isascii()
        assert len(text) <= 64
        assert any(letter.isdigit() for letter in text)
        assert not set(text) & set(" _\n\t")
