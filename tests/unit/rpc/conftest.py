"""One server and its fake service for a test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.rpc.rig import Rig, serving, socket_in


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """A server on a unix socket."""
    async with serving(socket_in(tmp_path)) as running:
        yield running
