"""Single fields of requests: sizes, names, versions, times. Each returns a usable value and records what is wrong.

A value that was recorded as wrong never leaves the decoder, because `Violations.passed` raises. Times are converted in
integer nanoseconds, so that no bound is off by a rounding.
"""

from typing import Final

from google.protobuf.duration_pb2 import Duration

from berth_server.rpc.codec.violations import Violations

MAX_ROWS: Final = 1000
MAX_NAME: Final = 253  # the longest name of a Kubernetes object (DNS subdomain, RFC 1123)
MAX_NAMESPACE: Final = 63  # a namespace is a DNS label
MAX_TOKEN: Final = 2048  # far above what the server hands out
_MAX_VERSION_DIGITS: Final = 39  # KEP-5504: a resourceVersion is a decimal integer of at most 128 bits
_NANO: Final = 10**9
_MAX_DURATION_SECONDS: Final = 315_576_000_000  # google.protobuf.Duration


def row_count(value: int, field: str, check: Violations, *, default: int) -> int:
    """How many rows are asked for, 1 to 1000; 0 means `default`."""
    if not 0 <= value <= MAX_ROWS:
        check.add(field, f"must be 0 to {MAX_ROWS}, not {value}")
    return value or default


def bounded(value: str, field: str, check: Violations, *, most: int = MAX_NAME) -> str:
    """Text of at most `most` characters; it may be empty."""
    if len(value) > most:
        check.add(field, f"must have at most {most} characters, not {len(value)}")
    return value


def required(value: str, field: str, check: Violations) -> str:
    """Return a name: 1 to 253 characters. Whether an object bears it is not asked here."""
    if not value:
        check.add(field, "must not be empty")
    return bounded(value, field, check)


def resource_version(value: str, field: str, check: Violations) -> int:
    """Return a resourceVersion as an integer; empty is 0, any version."""
    if not value:
        return 0
    if len(value) > _MAX_VERSION_DIGITS or not (value.isascii() and value.isdecimal()):
        check.add(field, "must be a decimal integer, as in metadata.resourceVersion")
        return 0
    return int(value)


def seconds(value: Duration, field: str, check: Violations, *, most: int = _MAX_DURATION_SECONDS) -> float:
    """Seconds of a duration, 0 to `most`, correctly rounded to a float."""
    total = value.seconds * _NANO + value.nanos
    if abs(value.nanos) >= _NANO or value.seconds * value.nanos < 0:
        check.add(field, "is not a valid duration: seconds and nanos differ in sign, or nanos are a second or more")
    elif total < 0:
        check.add(field, "must not be negative")
    elif total > most * _NANO:
        check.add(field, f"must be at most {most} s")
    return total / _NANO
