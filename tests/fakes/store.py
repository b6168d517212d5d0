"""A store that tells nothing: for tests that hand listings and events to the ingest themselves."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from berth_server.objects.resources import Resource
from berth_server.placement.ports import Listing, NotFoundError, ObjectRef, WatchEvent


class DeafStore:
    """Empty, silent and read-only."""

    async def list(self, kind: str) -> AsyncIterator[Listing]:
        """See Store."""
        yield Listing(kind, 0, ())

    async def watch(self, kind: str, since: int) -> AsyncIterator[WatchEvent]:
        """See Store."""
        events: tuple[WatchEvent, ...] = ()
        for event in events:
            yield event

    def age(self, kind: str) -> float:
        """See Store."""
        return 0.0

    async def read(self, ref: ObjectRef) -> Resource:
        """See Store."""
        raise NotFoundError(f"{ref} is not there")

    async def patch_status(self, ref: ObjectRef, status: Mapping[str, Any], *, version: int) -> Resource:
        """See Store."""
        raise AssertionError(f"nobody writes {ref} in this test")
