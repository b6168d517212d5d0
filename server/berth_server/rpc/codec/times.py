"""Instants and spans as messages, in integer arithmetic: a float of seconds since 1970 has no nanoseconds."""

from datetime import UTC, datetime
from typing import Final

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY: Final = 86_400
_NANO: Final = 10**9


def put_instant(into: Timestamp, instant: datetime) -> None:
    """Write an aware datetime, exact to its microsecond."""
    since = instant - _EPOCH
    into.seconds = since.days * _DAY + since.seconds
    into.nanos = since.microseconds * 1000


def put_span(into: Duration, span: float) -> None:
    """Write a span of seconds, 0 or more, to the nearest nanosecond."""
    into.seconds, into.nanos = divmod(round(span * _NANO), _NANO)
