"""Every order of what can happen around a bind keeps CAP, ONE and SAME, wakes whoever fits, and leaves nothing over."""

from itertools import combinations
from random import Random

import pytest

from tests.conftest import base_seed
from tests.property.interleavings import CHANGES, ONE_RUN, TWO_RUNS, Search, walk

DRIVER = ("driver",)
BOTH = ("driver", "client")
LEAST_STATES = 80
PAIRS = 8
"""Of the 45 pairs of changes, new ones with every seed."""
WALKS = 60
CHUNKS = 6
SLOW_CHUNKS = 14
STEPS = 30


def pairs() -> list[tuple[str, str]]:
    """Draw pairs of changes of the API."""
    return Random(base_seed()).sample(list(combinations(CHANGES, 2)), PAIRS)


@pytest.mark.parametrize("change", [pytest.param(change, id=change) for change in CHANGES])
async def test_one_run_and_one_change(change: str) -> None:
    """The driver binds one Run, and somebody changes the API once, at any moment."""
    search = Search(ONE_RUN, DRIVER, [change], most=8)
    await search.go()
    assert search.states >= LEAST_STATES


async def test_one_run_and_two_owners() -> None:
    """The driver and a client want the same Run."""
    search = Search(ONE_RUN, BOTH, [], most=8)
    await search.go()
    assert search.states >= LEAST_STATES


async def test_two_runs_and_one_slot() -> None:
    """The driver and a client want the slot, each for any of two Runs."""
    search = Search(TWO_RUNS, BOTH, [], most=5)
    await search.go()
    assert search.states >= LEAST_STATES


@pytest.mark.parametrize("chunk", range(CHUNKS))
async def test_walks(seed: int, chunk: int) -> None:
    """Long random ways through a world in which everything can happen twice."""
    for number in range(WALKS):
        await walk(Random(f"{seed}/{chunk}/{number}"), STEPS)


@pytest.mark.slow
@pytest.mark.parametrize("changes", pairs(), ids=" + ".join)
async def test_one_run_and_two_changes(changes: tuple[str, str]) -> None:
    """The driver binds one Run, and two things happen meanwhile."""
    search = Search(ONE_RUN, DRIVER, changes, most=7)
    await search.go()
    assert search.states >= LEAST_STATES


@pytest.mark.slow
async def test_two_runs_and_one_slot_for_longer() -> None:
    """The same as above, one step further."""
    search = Search(TWO_RUNS, BOTH, [], most=6)
    await search.go()
    assert search.states >= LEAST_STATES


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS, SLOW_CHUNKS))
async def test_more_walks(seed: int, chunk: int) -> None:
    """More of the same."""
    for number in range(WALKS):
        await walk(Random(f"{seed}/{chunk}/{number}"), STEPS)
