"""All tests here run the server as a process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.process import short_directory

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("e2e")


@pytest.fixture
def sockets() -> Iterator[Path]:
    """An empty folder for sockets."""
    with short_directory() as directory:
        yield directory
