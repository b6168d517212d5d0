"""Fixtures of the tests of the example controller."""

import os

import pytest

from tests.unit.examples.api_servers import VARIABLE, Place, in_memory, on_a_real_one

_NONE_NAMED = pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} names no API server")


@pytest.fixture(
    params=[pytest.param(in_memory, id="memory"), pytest.param(on_a_real_one, id="real", marks=_NONE_NAMED)]
)
def place(request: pytest.FixtureRequest) -> Place:
    """An empty namespace of an API server."""
    made: Place = request.param()
    return made
