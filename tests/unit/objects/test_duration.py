"""Durations are read as Go reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth_server.objects.duration import parse_duration


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("0", 0.0, id="zero needs no unit"),
        pytest.param("+0", 0.0, id="signed zero"),
        pytest.param("30s", 30.0, id="seconds"),
        pytest.param("1h30m", 5400.0, id="two parts"),
        pytest.param("1m1h", 3660.0, id="parts in any order"),
        pytest.param("1s1s", 2.0, id="the same part twice"),
        pytest.param("1.5h", 5400.0, id="decimals"),
        pytest.param(".5s", 0.5, id="no whole part"),
        pytest.param("5.s", 5.0, id="no decimals after the point"),
        pytest.param("250ms", 0.25, id="milliseconds, not minutes"),
        pytest.param("1us", 1e-6, id="microseconds"),
        pytest.param("1\u00b5s", 1e-6, id="micro sign"),
        pytest.param("1\u03bcs", 1e-6, id="Greek mu"),
        pytest.param("1ns", 1e-9, id="nanoseconds"),
        pytest.param("-1m", -60.0, id="negative"),
        pytest.param("2562047h47m16.854775807s", 9223372036.854775807, id="the longest"),
        pytest.param("2562047h47m16.854775808s", None, id="a nanosecond more"),
        pytest.param("9999999h", None, id="overflow"),
        pytest.param("", None, id="empty"),
        pytest.param("-", None, id="sign alone"),
        pytest.param("5", None, id="no unit"),
        pytest.param("s", None, id="no number"),
        pytest.param(".s", None, id="no digit"),
        pytest.param("1d", None, id="days"),
        pytest.param("1 s", None, id="space"),
        pytest.param("1s\n", None, id="newline"),
        pytest.param("1H", None, id="capital"),
        pytest.param("\uff11s", None, id="fullwidth digit"),
        pytest.param("1s-1s", None, id="sign inside"),
        pytest.param("0" * 64 + "1s", None, id="too long"),
        pytest.param("1e3s", None, id="exponent"),
    ],
)
def test_parse_duration(text: str, want: float | None) -> None:
    """Seconds, or None for what Go refuses."""
    assert parse_duration(text) == want


@given(st.integers(0, 10**5), st.integers(0, 59), st.integers(0, 59))
def test_parts_add_up(hours: int, minutes: int, seconds: int) -> None:
    """The canonical form gives its sum."""
    assert parse_duration(f"{hours}h{minutes}m{seconds}s") == hours * 3600 + minutes * 60 + seconds


@given(st.text() | st.text("0123456789.+-hmsnu\u00b5\u03bc ", max_size=70))
def test_any_text_has_an_answer(text: str) -> None:
    """No text raises."""
    assert parse_duration(text) is None or len(text) <= 64
