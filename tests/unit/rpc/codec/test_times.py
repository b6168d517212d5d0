"""Instants and spans lose nothing."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from berth_server.rpc.codec.times import put_instant, put_span


@pytest.mark.parametrize(
    ("instant", "want"),
    [
        pytest.param(datetime(1970, 1, 1, tzinfo=UTC), (0, 0), id="epoch"),
        pytest.param(datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), (-1, 999_999_000), id="before-epoch"),
        pytest.param(datetime(9999, 12, 31, 23, 59, 59, 1, tzinfo=UTC), (253_402_300_799, 1000), id="last-year"),
        pytest.param(
            datetime(2026, 3, 1, 13, 0, tzinfo=timezone(timedelta(hours=1))), (1_772_366_400, 0), id="other-zone"
        ),
    ],
)
def test_writes_an_instant(instant: datetime, want: tuple[int, int]) -> None:
    """Seconds and nanoseconds since the epoch; the fraction counts forward, also before it."""
    message = Timestamp()
    put_instant(message, instant)
    assert (message.seconds, message.nanos) == want


@pytest.mark.parametrize(
    ("span", "want"),
    [
        pytest.param(0.0, (0, 0), id="zero"),
        pytest.param(0.25, (0, 250_000_000), id="quarter"),
        pytest.param(1.1, (1, 100_000_000), id="not-a-binary-fraction"),
        pytest.param(0.9999999999, (1, 0), id="rounds-up-to-a-second"),
        pytest.param(86_400.000000001, (86_400, 1), id="a-day-and-a-nanosecond"),
    ],
)
def test_writes_a_span(span: float, want: tuple[int, int]) -> None:
    """To the nearest nanosecond, with nanos always below a second."""
    message = Duration()
    put_span(message, span)
    assert (message.seconds, message.nanos) == want


@given(nanos=st.integers(0, 10**6 * 10**9))
def test_spans_keep_every_nanosecond(nanos: int) -> None:
    """Below eleven days a float of seconds holds a nanosecond, and so does the message."""
    message = Duration()
    put_span(message, nanos / 10**9)
    assert message.ToNanoseconds() == nanos
