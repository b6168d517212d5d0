"""Cutting JSON at a level, whatever lies below."""

import json

import pytest

from berth_server.objects.nesting import containers, without

DEPTH = 20_000


@pytest.mark.parametrize(
    ("text", "level", "want"),
    [
        pytest.param('{"a": {"b": [1]}, "c": [{}]}', 1, ['{"a": {"b": [1]}, "c": [{}]}'], id="outermost"),
        pytest.param('{"a": {"b": [1]}, "c": [{}]}', 2, ['{"b": [1]}', "[{}]"], id="second"),
        pytest.param('{"a": {"b": [1]}, "c": [{}]}', 3, ["[1]", "{}"], id="third"),
        pytest.param('{"a": 1}', 2, [], id="none"),
        pytest.param(r'{"{": "}", "a\"[": ["\\"], "\\": {"x": "]"}}', 2, [r'["\\"]', '{"x": "]"}'], id="in strings"),
        pytest.param('{"a": ["x', 2, [], id="cut off"),
        pytest.param("]]}{", 1, [], id="no JSON"),
        pytest.param("", 1, [], id="empty"),
    ],
)
def test_containers(text: str, level: int, want: list[str]) -> None:
    """Brackets in strings are none, and what is no JSON does no harm."""
    assert [text.encode()[start:end].decode() for start, end in containers(text.encode(), level)] == want


def test_without() -> None:
    """What is cut is null, and the rest is as it was."""
    data = b'{"a": {"b": [1]}, "c": [{}], "d": "{"}'
    assert json.loads(without(data, containers(data, 2))) == {"a": None, "c": None, "d": "{"}


def test_any_depth() -> None:
    """There is no recursion."""
    data = b'{"a":' * DEPTH + b"1" + b"}" * DEPTH
    assert json.loads(without(data, containers(data, 5))) == {"a": {"a": {"a": {"a": None}}}}
