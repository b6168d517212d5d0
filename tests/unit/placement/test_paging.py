"""Page tokens: opaque, bound to what they page through, refused in words otherwise."""

import base64

import pytest

from berth_server.placement.failures import PlacementError, Reason
from berth_server.placement.paging import decode, encode, page

KEYS = ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 99])
def test_pages_join_to_the_whole(size: int) -> None:
    """Every key once, in order; the last page has no token."""
    seen: list[str] = []
    token, pages = "", 0
    while token or not pages:
        positions, token = page(KEYS, size, token, "7")
        assert len(positions) <= size
        seen += [KEYS[position] for position in positions]
        pages += 1
    assert seen == KEYS
    assert pages == -(-len(KEYS) // size)


def test_nothing_to_page_through() -> None:
    """One empty page."""
    assert page([], 10, "", "7") == (range(0), "")


def test_keys_that_go_do_not_shift_the_pages() -> None:
    """A token names a key, not a position: what was removed in between neither repeats nor skips a row."""
    _, token = page(KEYS, 2, "", "7")
    left = ["a", "c", "d", "e"]
    positions, _ = page(left, 2, token, "7")
    assert [left[position] for position in positions] == ["c", "d"]


@pytest.mark.parametrize("after", ["x", "ns/a", "é", "\x1f", "名" * 80, ""])
def test_round_trip(after: str) -> None:
    """Any key comes back as it was."""
    assert decode(encode("7", after), "7") == after


@pytest.mark.parametrize(
    "token",
    [
        pytest.param("%%%", id="not base64"),
        pytest.param("a", id="too short"),
        pytest.param("abc", id="not padded"),
        pytest.param("é", id="not ASCII"),
        pytest.param("\ud83d\ude00", id="surrogates"),
        pytest.param(base64.urlsafe_b64encode(b"\xff\xfe").decode(), id="not UTF-8"),
        pytest.param(base64.urlsafe_b64encode(b"nothing").decode(), id="no separator"),
        pytest.param(" ", id="a space"),
    ],
)
def test_what_is_no_token_is_refused(token: str) -> None:
    """The field is named, with what would be right."""
    with pytest.raises(PlacementError) as caught:
        page(KEYS, 2, token, "7")
    assert caught.value.reason is Reason.INVALID_FIELD
    assert [violation.field for violation in caught.value.violations] == ["page_token"]


def test_a_token_of_another_scope_is_stale() -> None:
    """The rows have changed since: start again, and it may be done at once."""
    _, token = page(KEYS, 2, "", "7")
    with pytest.raises(PlacementError) as caught:
        page(KEYS, 2, token, "8")
    assert caught.value.reason is Reason.STALE_EPOCH
    assert caught.value.retry_after == 0
