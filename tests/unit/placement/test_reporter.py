"""The message of a Run that waits: what it says, and how seldom it is written."""

import asyncio

from berth_server.placement.ports import ConflictError
from berth_server.placement.reporter import same_reasons
from tests.builders import pod, run
from tests.harness import Harness

FULL = pod("p1", capacity={"runs": 0})


async def quiet(harness: Harness) -> None:
    """Drive, and let the messages that are due by then be written."""
    await harness.drive()
    await harness.advance(0.0)
    await harness.service.drain()
    harness.pump()


async def test_says_why() -> None:
    """Counts and reason words, nothing else of the status is touched."""
    harness = await Harness(run("a"), FULL).start()
    await quiet(harness)
    want_message = "0/1 runtime pods: 1 InsufficientCapacity"
    assert harness.status("a") == {"phase": "Pending", "message": want_message}


async def test_counts_alone_are_no_news() -> None:
    """Other numbers of the same reasons in the same order are not written."""
    harness = await Harness(run("a"), FULL).start()
    await quiet(harness)
    version = harness.item("a").version
    await harness.advance(3600.0)
    harness.put(pod("p2", capacity={"runs": 0}))
    harness.pump()
    await quiet(harness)
    assert harness.item("a").version == version
    assert same_reasons("0/1 runtime pods: 1 X", "0/20 runtime pods: 20 X")
    assert not same_reasons("0/2 runtime pods: 1 X, 1 Y", "0/2 runtime pods: 1 Y, 1 X")


async def test_once_a_minute() -> None:
    """What is news within a minute waits for its end, and then the last word is written."""
    harness = await Harness(run("a", requests={"gpu": 1}), FULL).start()
    await quiet(harness)
    first = harness.item("a").message
    for change in ({"gpu": 0}, {"gpu": "x"}):
        await harness.set_capacity("p1", "ns", **change)
        harness.pump()
        await harness.advance(11.0)
        await quiet(harness)
        assert harness.item("a").message == first
    written = harness.store.written
    await harness.advance(60.0)
    await quiet(harness)
    assert harness.store.written == written + 1
    assert harness.item("a").message == "0/1 runtime pods: 1 InvalidCapacity"


async def test_no_message_over_an_assignment() -> None:
    """A message that is due when its Run is reserved or bound is not sent."""
    harness = await Harness(run("a"), FULL).start()
    assert await harness.driver.step(wait=0) == 1
    await harness.set_capacity("p1", "ns", runs=1)
    harness.pump()
    await harness.plan("a")
    await harness.advance(0.0)
    assert harness.store.written == 0


async def test_bind_supersedes_a_message_that_waits() -> None:
    """While one write of a Run is out, its message gives way to its bind, which carries what came of the first."""
    harness = await Harness(run("a"), pod("p1"), held=True).start()
    for message in ("0/1 runtime pods: 1 X", "0/1 runtime pods: 1 Y"):
        harness.service.reporter.waits(harness.item("a"), message)
        harness.service.reporter.tick()
        harness.clock.advance(60.0)
    await harness.rest()
    reservation = await harness.reserve("a")
    binding = harness.bind(reservation.id)
    task = asyncio.create_task(binding)
    await harness.rest()
    (first,) = harness.store.writes
    await harness.store.answer(first)
    await harness.rest()
    (second,) = harness.store.writes
    assert second.status["phase"] == "Scheduled"
    await harness.store.answer(second)
    await task
    await harness.rest()
    assert harness.store.written == 2
    assert harness.status("a")["message"] == ""


async def test_refused_message() -> None:
    """A message that is refused is logged, and costs its Run nothing."""
    harness = await Harness(run("a"), FULL).start()
    harness.store.failures = [ConflictError("changed")]
    await quiet(harness)
    assert [line for line, _ in harness.log.lines] == ["message not written"]
    await harness.set_capacity("p1", "ns", runs=1)
    harness.pump()
    await quiet(harness)
    assert harness.placements() == {"ns/a": "ns/p1"}
