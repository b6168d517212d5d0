"""JSON merge patch: the examples of RFC 7386, appendix A, and that nothing is changed in place."""

import copy
from typing import Any

import pytest

from berth_server.kube.mergepatch import merge_patch


@pytest.mark.parametrize(
    ("target", "patch", "want"),
    [
        pytest.param({"a": "b"}, {"a": "c"}, {"a": "c"}, id="replace"),
        pytest.param({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}, id="add"),
        pytest.param({"a": "b"}, {"a": None}, {}, id="remove"),
        pytest.param({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}, id="remove-one-of-two"),
        pytest.param({"a": ["b"]}, {"a": "c"}, {"a": "c"}, id="list-by-scalar"),
        pytest.param({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}, id="scalar-by-list"),
        pytest.param({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}, id="nested"),
        pytest.param({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}, id="list-of-maps"),
        pytest.param(["a", "b"], ["c", "d"], ["c", "d"], id="top-level-list"),
        pytest.param({"a": "b"}, ["c"], ["c"], id="map-by-list"),
        pytest.param({"a": "foo"}, None, None, id="null-as-a-whole"),
        pytest.param({"a": "foo"}, "bar", "bar", id="scalar-as-a-whole"),
        pytest.param({"e": None}, {"a": 1}, {"e": None, "a": 1}, id="null-in-target-stays"),
        pytest.param([1, 2], {"a": "b", "c": None}, {"a": "b"}, id="list-by-map"),
        pytest.param({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}, id="null-in-new-map-is-dropped"),
        pytest.param(None, {"a": 1}, {"a": 1}, id="absent-target"),
    ],
)
def test_rfc_7386(target: Any, patch: Any, want: Any) -> None:
    """Null removes, maps merge, all else replaces; neither argument is changed."""
    before = copy.deepcopy((target, patch))
    assert merge_patch(target, patch) == want
    assert (target, patch) == before
