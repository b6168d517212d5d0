"""The order of active keys."""

import pytest

from berth_server.queue.active import ActiveQueue
from berth_server.queue.key import QueueKey
from tests.unit.queue.rig import key


def active_of(*keys: QueueKey) -> ActiveQueue:
    """Build one with `keys`."""
    active = ActiveQueue()
    for one in keys:
        active.push(one)
    return active


def drain(active: ActiveQueue) -> list[str]:
    """Pop everything."""
    uids = []
    while (uid := active.pop()) is not None:
        uids.append(uid)
    return uids


@pytest.mark.parametrize(
    ("keys", "want"),
    [
        pytest.param([], [], id="empty"),
        pytest.param([key("a", arrival=2), key("b", arrival=1)], ["b", "a"], id="arrival"),
        pytest.param([key("b"), key("a")], ["a", "b"], id="uid"),
        pytest.param([key("a"), key("b", priority=1, arrival=9)], ["b", "a"], id="priority before arrival"),
        pytest.param([key("a", priority=-1), key("b")], ["b", "a"], id="negative priority"),
        pytest.param(
            [key("a1", arrival=1), key("a2", arrival=2), key("a3", arrival=3), key("b", pool="ns/js", arrival=9)],
            ["a1", "b", "a2", "a3"],
            id="pools take turns",
        ),
        pytest.param(
            [key("a", pool="b/x"), key("b", pool="a/y"), key("c", pool="a/x")],
            ["c", "b", "a"],
            id="heads of one age: by namespace, then runtime",
        ),
        pytest.param(
            [
                key("a1", arrival=1),
                key("a2", arrival=8),
                key("b1", pool="ns/js", arrival=2),
                key("b2", pool="ns/js", arrival=3),
            ],
            ["a1", "b1", "b2", "a2"],
            id="each round by the oldest head",
        ),
        pytest.param(
            [key("a1"), key("a2"), key("b", pool="ns/js", priority=1), key("c", pool="x/y")],
            ["b", "a1", "c", "a2"],
            id="turns are within a priority",
        ),
    ],
)
def test_order(keys: list[QueueKey], want: list[str]) -> None:
    """Popping follows it, and listing tells it without changing anything."""
    active = active_of(*keys)
    assert list(active.in_order()) == want
    assert len(active) == len(want)
    assert drain(active) == want
    assert len(active) == 0


def test_a_key_that_returns_waits_for_the_next_round() -> None:
    """A pool whose only key conflicts again and again does not take the turns of others."""
    lone = key("lone")
    active = active_of(lone, key("b1", pool="ns/js", arrival=1), key("b2", pool="ns/js", arrival=2))
    got = []
    for _ in range(4):
        uid = active.pop()
        got.append(uid)
        if uid == "lone":
            active.push(lone)
    assert got == ["lone", "b1", "lone", "b2"]


def test_listing_goes_on_within_the_round() -> None:
    """The pool that has just had its turn is last, though its head is the oldest."""
    active = active_of(key("a1", arrival=1), key("a2", arrival=2), key("b", pool="ns/js", arrival=9))
    assert active.pop() == "a1"
    assert list(active.in_order()) == ["b", "a2"]


def test_a_pool_that_emptied_loses_its_turn_alone() -> None:
    """A turn of nobody is skipped."""
    gone = key("gone", pool="ns/b", arrival=2)
    active = active_of(key("a1", arrival=1), key("a2", arrival=4), gone, key("c", pool="ns/c", arrival=3))
    assert active.pop() == "a1"
    active.discard(gone)
    assert list(active.in_order()) == ["c", "a2"]
    assert drain(active) == ["c", "a2"]


def test_a_discarded_priority_is_forgotten() -> None:
    """Nothing stays of a level without keys."""
    urgent = key("urgent", priority=7)
    active = active_of(urgent, key("a"))
    active.discard(urgent)
    assert (len(active), list(active.in_order())) == (1, ["a"])
    assert drain(active) == ["a"]
