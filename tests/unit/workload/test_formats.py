"""The formats of names, at their edges."""

from collections.abc import Callable, Iterator

import pytest

from berth.workload.validation.formats import label_key, label_value, long_name, path_segment, short_name

LONG = ".".join(["a" * 63] * 3) + "." + "a" * 61


@pytest.mark.parametrize(
    ("check", "text", "want_problems"),
    [
        pytest.param(short_name, "a", 0, id="short-one-letter"),
        pytest.param(short_name, "0-9", 0, id="short-digits"),
        pytest.param(short_name, "a" * 63, 0, id="short-63"),
        pytest.param(short_name, "a" * 64, 1, id="short-64"),
        pytest.param(short_name, "A" * 64, 2, id="short-64-upper"),
        pytest.param(short_name, "a.b", 1, id="short-dot"),
        pytest.param(short_name, "a-", 1, id="short-dash-at-end"),
        pytest.param(short_name, "a\n", 1, id="short-newline"),
        pytest.param(short_name, "ä", 1, id="short-umlaut"),
        pytest.param(short_name, "", 1, id="short-empty"),
        pytest.param(long_name, LONG, 0, id="long-253"),
        pytest.param(long_name, LONG + "a", 1, id="long-254"),
        pytest.param(long_name, "a" * 200, 0, id="long-part-over-63"),
        pytest.param(long_name, "a..b", 1, id="long-two-dots"),
        pytest.param(long_name, "a.", 1, id="long-dot-at-end"),
        pytest.param(long_name, "a.-b", 1, id="long-dash-after-dot"),
        pytest.param(label_key, "A_b.c-d", 0, id="key-all-characters"),
        pytest.param(label_key, "a" * 64, 1, id="key-64"),
        pytest.param(label_key, f"{LONG}/a", 0, id="key-long-prefix"),
        pytest.param(label_key, f"{LONG}a/a", 1, id="key-prefix-too-long"),
        pytest.param(label_key, "/a", 1, id="key-empty-prefix"),
        pytest.param(label_key, "a/", 2, id="key-empty-name"),
        pytest.param(label_key, "/", 3, id="key-nothing-but-a-slash"),
        pytest.param(label_key, "a/b/c", 1, id="key-two-slashes"),
        pytest.param(label_key, "A/b", 1, id="key-upper-prefix"),
        pytest.param(label_key, "", 2, id="key-empty"),
        pytest.param(label_value, "", 0, id="value-empty"),
        pytest.param(label_value, "a b", 1, id="value-space"),
        pytest.param(label_value, "_" * 64, 2, id="value-long-and-bad"),
        pytest.param(path_segment, "My Kind", 0, id="segment-space"),
        pytest.param(path_segment, "...", 0, id="segment-three-dots"),
        pytest.param(path_segment, "..", 1, id="segment-parent"),
        pytest.param(path_segment, "a/b%c", 2, id="segment-slash-and-percent"),
        pytest.param(path_segment, "\ud800", 0, id="segment-half-surrogate"),
    ],
)
def test_formats(check: Callable[[str], Iterator[str]], text: str, want_problems: int) -> None:
    """As many problems as the API server reports."""
    assert len(list(check(text))) == want_problems
