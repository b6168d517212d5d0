"""Exact JSON: doubles become what was meant or an error, never something near it."""

from datetime import date
from typing import Any

import msgspec
import pytest

from berth_server.kube.exact import InexactError, plain


@pytest.mark.parametrize(
    ("value", "want"),
    [
        pytest.param({"a": 1.0}, b'{"a":1}', id="whole"),
        pytest.param({"a": -0.0}, b'{"a":0}', id="minus-zero"),
        pytest.param({"a": 1.5}, b'{"a":1.5}', id="fraction"),
        pytest.param({"a": 2.0**53 - 1}, b'{"a":9007199254740991}', id="largest-exact"),
        pytest.param({"a": -(2.0**53) + 1}, b'{"a":-9007199254740991}', id="smallest-exact"),
        pytest.param({"a": 2**63 - 1}, b'{"a":9223372036854775807}', id="an-integer-is-exact"),
        pytest.param({"a": 2**100}, b'{"a":1267650600228229401496703205376}', id="however-large"),
        pytest.param({"a": [True, None, "x", {"b": [2.0]}]}, b'{"a":[true,null,"x",{"b":[2]}]}', id="nested"),
    ],
)
def test_says_what_was_meant(value: dict[str, Any], want: bytes) -> None:
    """Whole doubles become integers at every depth; the rest is as it was."""
    assert msgspec.json.encode(plain(value)) == want


@pytest.mark.parametrize(
    ("value", "want"),
    [
        pytest.param(
            {"spec": {"resources": {"requests": {"gpu": 2.0**53}}}},
            "spec.resources.requests.gpu: 9.0072e+15 may have lost digits as a number, write it as a string",
            id="2^53",
        ),
        pytest.param(
            {"a": -(2.0**53)}, "a: -9.0072e+15 may have lost digits as a number, write it as a string", id="-2^53"
        ),
        pytest.param({"a": [0, float("inf")]}, "a[1]: JSON has no inf", id="infinity"),
        pytest.param({"a": float("nan")}, "a: JSON has no nan", id="nan"),
        pytest.param({"a": {1: 2}}, "a: the key 1 is not a string, write it in quotes", id="key-number"),
        pytest.param({True: 2}, "the key True is not a string, write it in quotes", id="key-boolean"),
        pytest.param(
            {"metadata": {"annotations": {"kruntimes.io/capacity.gpu": date(2026, 1, 1)}}},
            "metadata.annotations[kruntimes.io/capacity.gpu]: JSON has no date, write it as a string",
            id="type",
        ),
    ],
)
def test_refuses_what_json_cannot_say(value: dict[str, Any], want: str) -> None:
    """One clause with the path of the value."""
    with pytest.raises(InexactError) as caught:
        plain(value)
    assert str(caught.value) == want
