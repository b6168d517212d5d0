"""What waits for news ends when it is told to, also when both come at once."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.builders import pod, run
from tests.harness import Harness

Wait = Callable[[Harness], Coroutine[Any, Any, object]]


@pytest.mark.parametrize(
    "wait",
    [
        pytest.param(lambda harness: harness.service.work.keep_time(), id="time"),
        pytest.param(lambda harness: harness.service.pop(max_items=1, wait=1000.0), id="pop"),
        pytest.param(lambda harness: harness.core.ingest.wait_for("Run", 10**9, 10**9), id="view"),
    ],
)
async def test_news_and_the_end_in_one_step(wait: Wait) -> None:
    """The news does not outrun the cancellation: a server that is told to stop would wait for ever."""
    harness = await Harness(pod("p1")).start()
    task = asyncio.create_task(wait(harness))
    await harness.rest()
    await harness.api.create(run("a"))
    harness.pump()
    task.cancel()
    await asyncio.wait([task], timeout=5)
    assert task.done()
    assert task.cancelled()
