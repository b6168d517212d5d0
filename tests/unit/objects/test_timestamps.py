"""RFC 3339 instants: what is understood, what is refused, and that nothing is lost on the way."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth_server.objects.timestamps import format_time, parse_time

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("2026-01-01T00:00:00Z", NEW_YEAR, id="whole-seconds"),
        pytest.param("2026-01-01T00:00:00.123456Z", NEW_YEAR + timedelta(microseconds=123456), id="micro-time"),
        pytest.param("2026-01-01T00:00:00.5Z", NEW_YEAR + timedelta(microseconds=500000), id="one-decimal"),
        pytest.param("2026-01-01T00:00:00.123456999Z", NEW_YEAR + timedelta(microseconds=123456), id="nanoseconds-cut"),
        pytest.param("2026-01-01T01:30:00+01:30", NEW_YEAR, id="east"),
        pytest.param("2025-12-31T16:00:00-08:00", NEW_YEAR, id="west"),
        pytest.param("2026-01-01T00:00:00-00:00", NEW_YEAR, id="minus-zero"),
        pytest.param("2024-02-29T12:00:00Z", datetime(2024, 2, 29, 12, tzinfo=UTC), id="leap-day"),
    ],
)
def test_parses_what_kubernetes_writes(text: str, want: datetime) -> None:
    """The instant is in UTC, whatever its offset was."""
    found = parse_time(text)
    assert found == want
    assert found is not None
    assert found.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("now", id="word"),
        pytest.param("2026-01-01", id="date-only"),
        pytest.param("2026-01-01T00:00:00", id="no-offset"),
        pytest.param("2026-01-01 00:00:00Z", id="space"),
        pytest.param("2026-01-01t00:00:00z", id="lower-case"),
        pytest.param("2026-01-01T00:00Z", id="no-seconds"),
        pytest.param("2026-01-01T24:00:00Z", id="hour-24"),
        pytest.param("2026-01-01T00:60:00Z", id="minute-60"),
        pytest.param("2016-12-31T23:59:60Z", id="leap-second"),
        pytest.param("2026-02-29T00:00:00Z", id="no-such-day"),
        pytest.param("2026-13-01T00:00:00Z", id="no-such-month"),
        pytest.param("0000-01-01T00:00:00Z", id="year-0"),
        pytest.param("0001-01-01T00:00:00+01:00", id="before-year-1"),
        pytest.param("2026-01-01T00:00:00.Z", id="no-decimals"),
        pytest.param("2026-01-01T00:00:00,5Z", id="comma"),
        pytest.param("2026-01-01T00:00:00.1234567890Z", id="ten-decimals"),
        pytest.param("2026-01-01T00:00:00+0100", id="offset-without-colon"),
        pytest.param("2026-01-01T00:00:00+24:00", id="offset-24"),
        pytest.param("2026-01-01T00:00:00Z\n", id="newline"),
        pytest.param("٢٠٢٦-01-01T00:00:00Z", id="other-digits"),
    ],
)
def test_refuses_the_rest(text: str) -> None:
    """What is not strictly RFC 3339 is None, never a guess."""
    assert parse_time(text) is None


@pytest.mark.parametrize(
    ("instant", "want"),
    [
        pytest.param(NEW_YEAR, "2026-01-01T00:00:00Z", id="whole-seconds"),
        pytest.param(NEW_YEAR + timedelta(microseconds=1), "2026-01-01T00:00:00.000001Z", id="six-decimals"),
        pytest.param(
            datetime(2026, 1, 1, 5, tzinfo=timezone(timedelta(hours=5))), "2026-01-01T00:00:00Z", id="other-zone"
        ),
        pytest.param(datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00Z", id="four-digit-year"),
    ],
)
def test_formats_in_utc(instant: datetime, want: str) -> None:
    """Whole seconds have no decimals; a fraction has six."""
    assert format_time(instant) == want


def test_refuses_a_naive_datetime() -> None:
    """Without a zone there is no instant to write."""
    with pytest.raises(ValueError, match="naive"):
        format_time(datetime(2026, 1, 1))  # noqa: DTZ001 -- the very thing that is refused


@given(st.datetimes(timezones=st.just(UTC)))
def test_round_trip(instant: datetime) -> None:
    """Parsing gives back exactly what was formatted."""
    assert parse_time(format_time(instant)) == instant
