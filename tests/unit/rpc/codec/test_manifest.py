"""A Struct becomes the JSON that it was made from."""

import math
from typing import Any

import msgspec
import pytest
from google.protobuf.struct_pb2 import Struct
from hypothesis import given
from hypothesis import strategies as st

from berth_server.rpc.codec.manifest import manifest_json
from berth_server.rpc.codec.violations import Violations

EXACT = 2**53

_numbers = st.integers(-EXACT + 1, EXACT - 1) | st.floats(-1e15, 1e15, allow_nan=False)
_values = st.recursive(
    st.none() | st.booleans() | _numbers | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


def _decoded(content: dict[str, Any]) -> Any:
    struct = Struct()
    struct.update(content)
    check = Violations()
    return msgspec.json.decode(check.passed(manifest_json(struct, "item.manifest", check)))


@given(spec=_values)
def test_keeps_every_json_value(spec: Any) -> None:
    """Whatever JSON holds below 2^53 comes back equal, and whole numbers come back as integers."""
    want = {"kind": "Run", "metadata": {"name": "n", "namespace": "a"}, "spec": spec}
    got = _decoded(want)
    assert got == want
    assert _whole_floats(got) == []


def _whole_floats(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [bad for each in value.values() for bad in _whole_floats(each)]
    if isinstance(value, list):
        return [bad for each in value for bad in _whole_floats(each)]
    return [value] if isinstance(value, float) and math.floor(value) == value else []


@pytest.mark.parametrize(
    ("metadata", "want"),
    [
        pytest.param({}, {"name": "hypothetical", "namespace": "default"}, id="empty"),
        pytest.param(None, {"name": "hypothetical", "namespace": "default"}, id="null"),
        pytest.param(
            {"name": "", "namespace": None}, {"name": "hypothetical", "namespace": "default"}, id="empty-name"
        ),
        pytest.param(
            {"name": "n", "labels": {"a": "b"}}, {"name": "n", "labels": {"a": "b"}, "namespace": "default"}, id="named"
        ),
    ],
)
def test_fills_in_name_and_namespace(metadata: Any, want: dict[str, Any]) -> None:
    """A hypothetical Run needs no name."""
    assert _decoded({"kind": "Run", "metadata": metadata})["metadata"] == want


def test_needs_no_metadata_at_all() -> None:
    """The smallest manifest is its kind."""
    want = {"kind": "Run", "metadata": {"name": "hypothetical", "namespace": "default"}}
    assert _decoded({"kind": "Run"}) == want


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_exact_number_passes(sign: int) -> None:
    """2^53 - 1 is exact; its neighbour outwards is where doubles begin to skip."""
    assert _decoded({"kind": "Run", "spec": {"n": sign * (EXACT - 1)}})["spec"] == {"n": sign * (EXACT - 1)}
