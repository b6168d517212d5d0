"""Page tokens: opaque to callers, bound to what they page through, and without any state kept here."""

import base64
from bisect import bisect_right
from collections.abc import Sequence

from berth_server.placement.failures import FieldViolation, PlacementError, Reason

_SEPARATOR = "\x1f"


def encode(scope: str, after: str) -> str:
    """Return the token of the page that starts behind the row with key `after`."""
    return base64.urlsafe_b64encode(f"{scope}{_SEPARATOR}{after}".encode()).decode()


def decode(token: str, scope: str) -> str:
    """Return the key behind which the page starts; "" for the first page.

    Raises PlacementError: INVALID_FIELD for what is no token, STALE_EPOCH for a token of another scope.
    """
    if not token:
        return ""
    try:
        found, separator, after = base64.b64decode(token, altchars=b"-_", validate=True).decode().partition(_SEPARATOR)
    except ValueError:  # no ASCII, no base64, no UTF-8
        separator, found, after = "", "", ""
    if not separator:
        description = "must be empty or the next_page_token of an earlier answer"
        raise PlacementError(
            Reason.INVALID_FIELD, f"page_token {description}.", violations=[FieldViolation("page_token", description)]
        )
    if found != scope:
        raise PlacementError(
            Reason.STALE_EPOCH,
            "what is paged through has changed since page_token was given: start again without it.",
            metadata={"field": "page_token"},
            retry_after=0.0,
        )
    return after


def page(keys: Sequence[str], size: int, token: str, scope: str) -> tuple[range, str]:
    """Return the positions of one page of `keys` (ascending), and the token of the next page, "" at the end."""
    after = decode(token, scope)
    start = bisect_right(keys, after) if after else 0
    end = min(start + size, len(keys))
    return range(start, end), encode(scope, keys[end - 1]) if end < len(keys) else ""
