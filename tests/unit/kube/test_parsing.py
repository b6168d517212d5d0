"""YAML and JSON: what kubectl would read, and how a fault reads."""

from typing import Any

import pytest

from berth_server.kube.parsing import TextError, parse


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("a: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}], id="documents"),
        pytest.param("---\n# nothing\n---\na: 1\n", [None, {"a": 1}], id="empty-document"),
        pytest.param("", [], id="empty"),
        pytest.param("a: 2026-01-01T00:00:00Z", [{"a": "2026-01-01T00:00:00Z"}], id="a-time-is-text"),
        pytest.param("a: 2026-01-01", [{"a": "2026-01-01"}], id="a-date-is-text"),
        pytest.param("a: 1:30", [{"a": "1:30"}], id="base-60-is-text"),
        pytest.param("a: 1:30.5", [{"a": "1:30.5"}], id="base-60-float-is-text"),
        pytest.param("a: =", [{"a": "="}], id="equals-sign-is-text"),
        pytest.param("a: [0, -7, 0x1F, 0b11, 017, 1_000]", [{"a": [0, -7, 31, 3, 15, 1000]}], id="integers"),
        pytest.param("a: [1.5, .5, -1., 1e3, 1.0e+3]", [{"a": [1.5, 0.5, -1.0, 1000.0, 1000.0]}], id="doubles"),
        pytest.param(
            "a: [1Gi, 100m, 08, 1.2.3, '1', -, .]", [{"a": ["1Gi", "100m", "08", "1.2.3", "1", "-", "."]}], id="text"
        ),
        pytest.param("a: [yes, off, true, ~, null]", [{"a": [True, False, True, None, None]}], id="booleans-and-nulls"),
        pytest.param("x: &x {a: 1}\ny: {<<: *x, a: 2}", [{"x": {"a": 1}, "y": {"a": 2}}], id="merge-key"),
        pytest.param("a: {b: 1}\nc: {b: 2}", [{"a": {"b": 1}, "c": {"b": 2}}], id="same-key-in-two-maps"),
        pytest.param(
            '{"a": 1}\n{"b": [1e3, 12345678901234567890]}\n',
            [{"a": 1}, {"b": [1000.0, 12345678901234567890]}],
            id="json-values",
        ),
        pytest.param('{"a": {"b": 1}, "c": {"b": 2}}', [{"a": {"b": 1}, "c": {"b": 2}}], id="json-two-maps"),
        pytest.param("{a: 1, b: [c]}", [{"a": 1, "b": ["c"]}], id="yaml-in-braces"),
        pytest.param("- 1\n- 2\n", [[1, 2]], id="list"),
    ],
)
def test_reads_as_kubectl_does(text: str, want: list[Any]) -> None:
    """Types included: what looks like a time or like base 60 is text."""
    found = list(parse(text))
    assert found == want
    assert repr(found) == repr(want)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            "a: 1\nb: c: d\n", "line 2: broken YAML: mapping values are not allowed in this context", id="map"
        ),
        pytest.param("a: 1\n---\nb: [1\n", "line 4: broken YAML: did not find expected ',' or ']'", id="document"),
        pytest.param("a: 1\nb:\n  c: 1\n  c: 2\n", "line 4: broken YAML: duplicate key 'c'", id="duplicate"),
        pytest.param("1: a\n'1': b\n", "line 2: broken YAML: duplicate key '1'", id="duplicate-once-quoted"),
        pytest.param('{"a": {\n\t"b": 1,\n\t"b": 2}}', "line 3: broken YAML: duplicate key 'b'", id="json-duplicate"),
        pytest.param("a: 1\nb: x\x01y", "line 2: broken YAML: control characters are not allowed", id="control"),
        pytest.param("a: *b", "line 1: broken YAML: found undefined alias", id="alias"),
        pytest.param(
            "a: !!python/object:os.system {}",
            "line 1: broken YAML: could not determine a constructor for the tag "
            "'tag:yaml.org,2002:python/object:os.system'",
            id="no-python-objects",
        ),
        pytest.param("a: !!int b", "broken YAML: invalid literal for int() with base 10: 'b'", id="explicit-tag"),
        pytest.param("? [a]\n: b", "line 1: broken YAML: found unhashable key", id="key-that-is-a-list"),
        pytest.param('{"a": 1\n', "line 2: broken YAML: did not find expected ',' or '}'", id="cut-json"),
    ],
)
def test_a_fault_names_its_line(text: str, want: str) -> None:
    """One clause that says where and what."""
    with pytest.raises(TextError) as caught:
        list(parse(text))
    assert str(caught.value) == want


def test_json_alone_is_not_read_as_yaml() -> None:
    """A file that says that it is JSON gets the error of a JSON reader."""
    with pytest.raises(TextError, match=r"^line 2: broken JSON: Expecting value$"):
        list(parse('{"a":\nyes}', json_only=True))


def test_deep_nesting_is_a_fault() -> None:
    """It must not end the process."""
    with pytest.raises(TextError):
        list(parse("[" * 100_000 + "]" * 100_000, json_only=True))
