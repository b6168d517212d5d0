"""How many calls may be in progress, and whether new ones are let in at all.

One event loop: no await between the check and the count.
"""

from types import TracebackType
from typing import Final, Self

from berth_server.placement.failures import PlacementError, Reason

DEFAULT_LIMIT: Final = 256


class Admission:
    """Counts the calls of our services while they are in progress: `with admission: ...`.

    Entering raises PlacementError OVER_LIMIT when the limit is reached, and SHUTTING_DOWN after `close`.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._in_progress = 0
        self._closed = False
        self._turned_away = 0

    @property
    def turned_away(self) -> int:
        """How many calls came after `close`."""
        return self._turned_away

    @property
    def in_progress(self) -> int:
        """How many calls are being answered now."""
        return self._in_progress

    def close(self) -> None:
        """Let no further call in; those in progress go on."""
        self._closed = True

    def __enter__(self) -> Self:
        if self._closed:
            self._turned_away += 1
            raise shutting_down()
        if self._in_progress >= self._limit:
            raise PlacementError(
                Reason.OVER_LIMIT,
                f"The server has {self._limit} calls in progress, which is its limit: try again in a second.",
                metadata={"limit": str(self._limit), "subject": "concurrent calls"},
            )
        self._in_progress += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._in_progress -= 1


def shutting_down() -> PlacementError:
    """Build what a caller hears from a server that drains."""
    return PlacementError(Reason.SHUTTING_DOWN, "This server is shutting down: call another replica or try again.")
