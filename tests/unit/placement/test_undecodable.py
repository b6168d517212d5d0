"""Ingest of what can't be decoded: which object it is can be read nearly always, and then it hides no other."""

from collections.abc import Callable, Sequence

import pytest

from berth_server.objects.changes import ChangeKind
from berth_server.objects.decode import DecodeError, Undecodable
from berth_server.placement.gauges import refresh
from berth_server.placement.ingest import Change, Ingest
from berth_server.placement.ports import EventType, Listing, WatchEvent
from berth_server.state.cluster import ClusterState
from tests.builders import NOW, Json, broken, decoded, node, pod, run, undecodable, workspace
from tests.fakes.clock import FakeClock
from tests.fakes.log import NullLog
from tests.fakes.store import DeafStore
from tests.harness import Harness

MODIFIED, DELETED = EventType.MODIFIED, EventType.DELETED
P1 = pod("p1")
STAYS = "object can't be decoded; its last good version stays"
UNSEEN = "object can't be decoded; it is not in view"
NAMELESS = "object can't be decoded; which one it is neither, so a list that has it frees nothing"
Observation = WatchEvent | Listing


def good(version: int, uid: str = "u1", event: EventType = MODIFIED) -> WatchEvent:
    """Return an event of the Run a, which is on p1."""
    return WatchEvent(event, "Run", version, decoded(run("a", uid=uid, version=version, on=P1)))


def odd(version: int, uid: str = "u1", event: EventType = MODIFIED) -> WatchEvent:
    """Return an event of the same Run that can't be decoded."""
    found = undecodable(broken(run("a", uid=uid, version=version, on=P1)))
    return WatchEvent(event, "Run", version, undecodable=found)


def nameless(version: int, event: EventType = MODIFIED) -> WatchEvent:
    """Return an event of which not even the object can be told."""
    return WatchEvent(event, "Run", version, undecodable=Undecodable("Run: is odd"))


def listing(version: int, *things: WatchEvent) -> Listing:
    """Return a list of the objects of some events."""
    resources = [each.resource for each in things if each.resource is not None]
    return Listing("Run", version, resources, [each.undecodable for each in things if each.undecodable is not None])


class Told:
    """An ingest, and what it told."""

    def __init__(self, *observations: Observation) -> None:
        self.log = NullLog()
        self.state = ClusterState(NOW)
        self.ingest = Ingest(DeafStore(), self.state, FakeClock(), self.log)
        self.view = self.ingest.views["Run"]
        self.changes: list[Change] = []
        self.ingest.subscribe(self.changes.append)
        self.take(*observations)

    def take(self, *observations: Observation) -> None:
        """Take events and listings."""
        for observation in observations:
            if isinstance(observation, Listing):
                self.ingest.replace(observation)
            else:
                self.ingest.apply(observation)

    @property
    def items(self) -> list[tuple[str, int]]:
        """The Runs in view, by UID and version."""
        return sorted((each.uid, each.version) for each in self.state.items.values())

    @property
    def use(self) -> int:
        """Runs that take room on p1."""
        return dict(self.state.occupancy.ledger.use("ns/p1")).get("runs", 0)

    @property
    def said(self) -> list[str]:
        """The lines of the log."""
        return [line for line, _ in self.log.lines]


@pytest.mark.parametrize(
    ("observations", "want", "want_said"),
    [
        pytest.param([good(5), odd(7)], ("u1", 5), [STAYS], id="it stays"),
        pytest.param([good(5), odd(7), odd(8)], ("u1", 5), [STAYS], id="it is told once"),
        pytest.param([odd(7)], None, [UNSEEN], id="never seen well"),
        pytest.param([odd(7), good(8)], ("u1", 8), [UNSEEN], id="well at last"),
        pytest.param([good(5), odd(7), good(8)], ("u1", 8), [STAYS], id="well again"),
        pytest.param([good(5), odd(7), good(8), odd(9)], ("u1", 8), [STAYS, STAYS], id="odd again"),
        pytest.param([good(5), odd(7), good(6)], ("u1", 5), [STAYS], id="never back behind what was seen"),
        pytest.param([odd(7), good(6)], None, [UNSEEN], id="nor if nothing of it is in view"),
        pytest.param([good(8), odd(7)], ("u1", 8), [], id="older than the one held"),
        pytest.param([good(5), odd(7, "u2")], None, [UNSEEN], id="recreated"),
        pytest.param([good(5), odd(7, "u2"), good(8, "u2")], ("u2", 8), [UNSEEN], id="recreated, then well"),
        pytest.param([good(5), odd(7, "u2"), good(6)], None, [UNSEEN], id="late news of the old one"),
        pytest.param([good(5), odd(7), odd(9, "u2")], None, [STAYS, UNSEEN], id="odd, then recreated"),
        pytest.param([odd(5), odd(7, "u2")], None, [UNSEEN, UNSEEN], id="odd from the start, then recreated"),
        pytest.param([odd(5), good(7, "u2")], ("u2", 7), [UNSEEN], id="recreated well"),
        pytest.param([good(7, "u2"), odd(6)], ("u2", 7), [], id="late news of an earlier one"),
    ],
)
def test_an_event(observations: Sequence[Observation], want: tuple[str, int] | None, want_said: list[str]) -> None:
    """Its last good version stays while its UID does; what another UID held is gone, with the room that it took."""
    told = Told(*observations)
    assert (told.items, told.use) == (([want], 1) if want else ([], 0))
    assert told.said == want_said
    last = observations[-1]
    assert isinstance(last, WatchEvent)
    assert told.view.version == max(each.version for each in observations), "the watch goes on behind it"


@pytest.mark.parametrize(
    ("observations", "want"),
    [
        pytest.param([good(5), odd(7, event=DELETED)], None, id="it"),
        pytest.param([good(5), odd(6), odd(7, event=DELETED)], None, id="after it was odd"),
        pytest.param([odd(6), odd(7, event=DELETED)], None, id="of what was never seen well"),
        pytest.param([good(5), odd(6), good(7, event=DELETED)], None, id="well at its end"),
        pytest.param([odd(7, event=DELETED)], None, id="of what is unknown"),
        pytest.param([good(5), odd(7, event=DELETED), good(8, "u2")], ("u2", 8), id="then created anew"),
        pytest.param([good(7, "u2"), odd(6, event=DELETED)], ("u2", 7), id="late, of an earlier one"),
        pytest.param([odd(7, "u2"), good(6, event=DELETED), good(8, "u2")], ("u2", 8), id="late, when odd now"),
        pytest.param([good(5), odd(7, "u2", event=DELETED)], None, id="of a later one, whose creation was not seen"),
    ],
)
def test_a_deletion(observations: Sequence[Observation], want: tuple[str, int] | None) -> None:
    """It is one whatever the object looked like at its end: nothing is left of it, and nothing to complain of."""
    told = Told(*observations)
    assert (told.items, told.use) == (([want], 1) if want else ([], 0))
    assert told.view.undecodable == 0
    assert len(told.view.held) == bool(want)


@pytest.mark.parametrize(
    ("observations", "want", "want_undecodable"),
    [
        pytest.param([listing(9, odd(7))], ("u1", 5), 1, id="it stays"),
        pytest.param([listing(9, odd(7, "u2"))], None, 1, id="recreated"),
        pytest.param([listing(9, odd(3))], ("u1", 5), 0, id="older than the one held"),
        pytest.param([listing(9, odd(3, "u0"))], ("u1", 5), 0, id="older, of an earlier one"),
        pytest.param([odd(7), listing(9)], None, 0, id="odd, then gone"),
        pytest.param([odd(7, "u2"), listing(9)], None, 0, id="recreated, then gone"),
        pytest.param([odd(7), listing(9, odd(7))], ("u1", 5), 1, id="odd all along"),
        pytest.param([odd(7), listing(9, good(8))], ("u1", 8), 0, id="well again"),
        pytest.param([odd(7), listing(6)], ("u1", 5), 1, id="a list that lags"),
        pytest.param([odd(7), listing(6, odd(6, "u2"))], ("u1", 5), 1, id="a list that lags, with another"),
        pytest.param([listing(9, nameless(7))], ("u1", 5), 1, id="nobody knows which"),
        pytest.param([listing(9, nameless(7), odd(8, "u2"))], None, 2, id="another UID says it even then"),
        pytest.param([listing(9, nameless(7)), listing(10)], None, 0, id="the next list is whole"),
        pytest.param([nameless(7, DELETED)], ("u1", 5), 1, id="nobody knows whose deletion"),
        pytest.param([nameless(7), listing(9)], None, 0, id="an event is no reason to distrust a list"),
    ],
)
def test_a_list(observations: Sequence[Observation], want: tuple[str, int] | None, want_undecodable: int) -> None:
    """What is listed is there, decodable or not; and how many are not is told as of now."""
    told = Told(listing(5, good(5)), *observations)
    assert (told.items, told.use) == (([want], 1) if want else ([], 0))
    assert told.view.undecodable == want_undecodable


def test_deletions_of_the_others_are_concluded_from_a_list() -> None:
    """One object that can't be decoded does not keep what is gone in view, for any kind."""
    for thing in (run, pod, workspace, node):
        kind = thing()["kind"]
        told = Told(Listing(kind, 2, [decoded(thing(name)) for name in ("gone", "odd", "same")]))
        told.take(Listing(kind, 9, [decoded(thing("same"))], [undecodable(broken(thing("odd", version=7)))]))
        assert sorted(name for _, name in told.ingest.views[kind].held) == ["odd", "same"]
        assert told.said == [STAYS]


def test_a_list_with_a_nameless_object_frees_nothing() -> None:
    """It may be any of those that are not listed. What is listed is taken, and the log says what the matter is."""
    told = Told(Listing("Run", 2, [decoded(run("a")), decoded(run("b"))]))
    told.take(Listing("Run", 9, [decoded(run("a", version=4))], [Undecodable("Run: is odd")]))
    assert told.items == [("ns/a", 4), ("ns/b", 1)]
    assert told.log.lines == [(NAMELESS, {"kind": "Run", "reason": "Run: is odd"})]


def test_what_is_told_of_a_recreated_object() -> None:
    """The old item is gone for every subscriber, and its room is free; of the new one nobody hears."""
    told = Told(Listing("Pod", 1, [decoded(P1)]), good(5))
    told.changes.clear()
    told.take(odd(7, "u2"))
    (change,) = told.changes
    assert change.before is not None
    assert (change.before.uid, change.after) == ("u1", None)
    assert ChangeKind.CAPACITY_RELEASED in [fact.kind for fact in change.facts]


def test_the_log_says_which_object() -> None:
    """By namespace and name, with what is wrong."""
    told = Told(odd(5))
    ((_, values),) = told.log.lines
    assert values["kind"] == "Run"
    assert values["reason"].startswith("Run ns/a: ")
    assert values["reason"].endswith("$.metadata.creationTimestamp`")


@pytest.mark.parametrize("make", [pod, workspace])
def test_other_kinds_that_are_recreated(make: Callable[..., Json]) -> None:
    """A Pod takes nothing any more, a workspace binds nobody, once one that can't be decoded has the name."""
    thing = make(uid="u1", version=5)
    told = Told(Listing(thing["kind"], 5, [decoded(thing)]))
    assert (len(told.state.candidates), len(told.state.workspaces)) in {(1, 0), (0, 1)}
    found = undecodable(broken(make(uid="u2", version=7)))
    told.take(WatchEvent(MODIFIED, thing["kind"], 7, undecodable=found))
    assert (told.state.candidates, told.state.workspaces) == ({}, {})


async def test_operators_see_how_many_there_are_now() -> None:
    """In the metric and in GetServerInfo; the figure falls when the object is well again."""
    harness = await Harness(pod()).start()
    harness.put(broken(run("a")))
    with pytest.raises(DecodeError):
        harness.waiting("Run")
    for want in (1, 1, 0):
        if not want:
            await harness.delete("Run", "a")
        await harness.relist("Run")
        refresh(harness.core, harness.service.work)
        assert harness.metric("berth_undecodable_objects", resource="runs") == want
        assert harness.metric("berth_undecodable_objects", resource="pods") == 0
        info = await harness.service.inspector.server_info()
        assert {view.kind: (view.objects, view.undecodable) for view in info.views}["Run"] == (want, want)
