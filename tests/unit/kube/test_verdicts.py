"""What answers of the API server mean, code by code."""

import json
from typing import Any

import pytest

from berth_server.kube.verdicts import UnavailableError, read_failure, status_of, write_failure
from berth_server.placement.ports import (
    ConflictError,
    GoneError,
    KubeError,
    NotFoundError,
    OutcomeUnknownError,
    RefusedError,
    ThrottledError,
)

REFUSED = (400, 401, 403, 405, 413, 415, 422)


def body(**fields: Any) -> bytes:
    """Return a Status as the API server writes it."""
    return json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", **fields}).encode()


@pytest.mark.parametrize(
    ("code", "want"),
    [
        *[pytest.param(code, RefusedError, id=str(code)) for code in REFUSED],
        pytest.param(404, NotFoundError, id="404"),
        pytest.param(409, ConflictError, id="409"),
        pytest.param(429, ThrottledError, id="429"),
        *[
            pytest.param(code, OutcomeUnknownError, id=str(code))
            for code in (302, 402, 406, 408, 410, 418, 499, 500, 502, 503, 504, 599)
        ],
    ],
)
def test_a_write_that_failed(code: int, want: type[KubeError]) -> None:
    """Only the closed list says that nothing was written; whatever else comes may have landed."""
    failure = write_failure(code, body(code=code, reason="Why", message="because"))
    assert type(failure) is want
    assert "because" in str(failure)


@pytest.mark.parametrize(
    ("code", "want"),
    [
        *[pytest.param(code, RefusedError, id=str(code)) for code in REFUSED],
        pytest.param(404, NotFoundError, id="404"),
        pytest.param(410, GoneError, id="410"),
        *[pytest.param(code, UnavailableError, id=str(code)) for code in (302, 406, 429, 500, 502, 503, 504)],
    ],
)
def test_a_read_that_failed(code: int, want: type[KubeError]) -> None:
    """A read may be tried again, but for what its answer says about the object or the version."""
    assert type(read_failure(code, body(code=code))) is want


@pytest.mark.parametrize(
    ("header", "details", "want"),
    [
        pytest.param(None, None, 1.0, id="neither"),
        pytest.param("7", None, 7.0, id="header"),
        pytest.param(None, {"retryAfterSeconds": 3}, 3.0, id="body"),
        pytest.param("2", {"retryAfterSeconds": 5}, 5.0, id="the longer"),
        pytest.param("86400", None, 60.0, id="too long"),
        pytest.param("Wed, 21 Oct 2026 07:28:00 GMT", None, 1.0, id="a date"),
        pytest.param("-5", {"retryAfterSeconds": -5}, 1.0, id="negative"),
        pytest.param("²", None, 1.0, id="no digit"),
    ],
)
def test_how_long_to_wait(header: str | None, details: dict[str, int] | None, want: float) -> None:
    """Header and body may both ask; neither is believed beyond a minute."""
    failure = write_failure(429, body(code=429, details=details), header)
    assert isinstance(failure, ThrottledError)
    assert failure.retry_after == want


@pytest.mark.parametrize("data", [b"", b"upstream timed out", b"[]", b'{"code": "x"}', b"{" * 9999])
def test_a_body_that_is_no_status(data: bytes) -> None:
    """A proxy answers what it likes; the code counts."""
    assert status_of(data).code is None
    assert isinstance(write_failure(504, data), OutcomeUnknownError)
