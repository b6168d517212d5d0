"""Ingest: listings and watch events, in whatever order and however late, become one state."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from berth_server.objects.changes import ChangeKind
from berth_server.objects.item import Item
from berth_server.placement import ingest as ingesting
from berth_server.placement.ingest import KINDS, Change, Ingest
from berth_server.placement.ports import EventType, GoneError, KubeError, Listing, WatchEvent
from berth_server.state.candidate import PoolKey
from berth_server.state.cluster import ClusterState
from tests.builders import MONOTONIC, NOW, Json, decoded, node, pod, run, workspace
from tests.fakes.clock import FakeClock
from tests.fakes.log import NullLog
from tests.fakes.store import DeafStore

ADDED, MODIFIED, DELETED = EventType.ADDED, EventType.MODIFIED, EventType.DELETED
P1, P2 = pod("p1"), pod("p2")


class Feed:
    """An ingest that a test hands listings and events to, and what it told."""

    def __init__(self, store: DeafStore | None = None) -> None:
        self.log = NullLog()
        self.clock = FakeClock()
        self.ingest = Ingest(store or DeafStore(), ClusterState(NOW), self.clock, self.log)
        self.state = self.ingest.state
        self.changes: list[Change] = []
        self.ingest.subscribe(self.changes.append)

    def lists(self, *things: Json, kind: str = "Run", version: int = 1) -> None:
        """Take a listing."""
        self.ingest.replace(Listing(kind, version, [decoded(thing) for thing in things]))

    def sees(self, thing: Json, event: EventType = MODIFIED) -> None:
        """Take an event, at the version of its object."""
        version = int(thing["metadata"]["resourceVersion"])
        self.ingest.apply(WatchEvent(event, thing["kind"], version, decoded(thing)))

    def told(self) -> list[tuple[str | None, str | None]]:
        """The UIDs before and after of every change so far, and forget them."""
        told = [(_uid(change.before), _uid(change.after)) for change in self.changes]
        self.changes.clear()
        return told

    def version_of(self, name: str = "a") -> int:
        """The version of a Run in the state."""
        return self.state.items[self.state.item_uids["ns", name]].version


def _uid(found: Item | None) -> str | None:
    return None if found is None else found.uid


def use(feed: Feed) -> dict[str, int]:
    """Runs taken, by candidate UID."""
    ledger = feed.state.occupancy.ledger
    return {uid: ledger.use(uid)["runs"] for uid in ledger.candidates()}


def listing(*things: Json, version: int) -> Listing:
    """Build a list of Runs."""
    return Listing("Run", version, [decoded(thing) for thing in things])


# --- listings ------------------------------------------------------------------------------------------------------


def test_a_relist_is_all_that_there_is() -> None:
    """New, changed, unchanged and gone: the state follows, and what changed is told before and after."""
    feed = Feed()
    feed.lists(run("gone"), run("same"), run("changed"))
    feed.told()
    feed.lists(run("same"), run("changed", version=5, labels={"x": "y"}), run("new", version=6), version=7)
    assert sorted(feed.state.items) == ["ns/changed", "ns/new", "ns/same"]
    assert feed.version_of("changed") == 5
    assert feed.told() == [("ns/changed", "ns/changed"), (None, "ns/new"), ("ns/gone", None)]
    assert feed.ingest.views["Run"].version == 7


def page(*names: str, first: bool = False, last: bool = False, version: int = 7) -> Listing:
    """Build a page of a list of Runs."""
    return replace(listing(*(run(name, version=5) for name in names), version=version), first=first, last=last)


@pytest.mark.parametrize(
    ("pages", "want"),
    [
        pytest.param([page("a", first=True), page("b"), page("c", last=True)], "abc", id="to the end"),
        pytest.param([page("a", first=True), page("b")], "abgone", id="not to the end: nothing is gone yet"),
        pytest.param([page("a", first=True), page("b", first=True), page("c", last=True)], "bc", id="begun anew"),
        pytest.param([page(first=True, last=True)], "", id="empty"),
        pytest.param([page("a", first=True, version=2), page("b", last=True, version=2)], "gone", id="lagging"),
    ],
)
def test_a_list_in_pages(pages: list[Listing], want: str) -> None:
    """Each page counts as it comes; what is gone is known when the last one has come, and by that listing alone."""
    feed = Feed()
    feed.lists(run("gone"), version=3)
    for each in pages:
        feed.ingest.replace(each)
    assert "".join(sorted(item.name for item in feed.state.items.values())) == want
    assert feed.ingest.views["Run"].version == (7 if pages[-1].last and pages[-1].version == 7 else 3)


def test_a_lagging_list_frees_nothing() -> None:
    """A list that is older than what was seen neither deletes nor rolls back."""
    feed = Feed()
    feed.lists(run("a", version=3), run("b"), version=10)
    feed.told()
    feed.lists(run("a", version=2), version=9)
    assert (sorted(feed.state.items), feed.version_of(), feed.told()) == (["ns/a", "ns/b"], 3, [])
    feed.lists(run("a", version=3), version=10)
    assert sorted(feed.state.items) == ["ns/a"], "a list as new as what was seen does delete"


def test_the_first_list_counts_whatever_its_version() -> None:
    """An event that came before the list does not make the list old."""
    feed = Feed()
    feed.sees(run("a", version=9))
    feed.lists(run("a", version=9), run("b", version=2), version=5)
    assert sorted(feed.state.items) == ["ns/a", "ns/b"]
    assert feed.ingest.views["Run"].version == 9


def test_an_object_in_a_list_that_is_older_than_the_one_held_is_ignored() -> None:
    """The list is new enough, that object in it is not."""
    feed = Feed()
    feed.lists(run("a", version=8), version=8)
    feed.lists(run("a", version=7), version=9)
    assert feed.version_of() == 8


def test_synced_once_every_kind_was_listed() -> None:
    """An empty list is a list, an event is none."""
    feed = Feed()
    feed.sees(run())
    for kind in KINDS:
        assert not feed.ingest.synced
        feed.lists(kind=kind)
    assert feed.ingest.synced


@pytest.mark.parametrize("kinds", [pytest.param(KINDS, id="as they come"), pytest.param(KINDS[::-1], id="Runs first")])
def test_the_order_of_kinds_does_not_matter(kinds: tuple[str, ...]) -> None:
    """Runs that are listed before their Pods count all the same."""
    feed = Feed()
    things = [node(), P1, workspace(), run("a", on=P1), run("b", on=P1, status={"assignedPodUID": None})]
    for kind in kinds:
        feed.lists(*[thing for thing in things if thing["kind"] == kind], kind=kind)
    assert use(feed) == {"ns/p1": 2}
    columns = feed.state.pools[PoolKey("ns", "py")].columns()
    assert columns.used.tolist() == [[2]]
    assert list(feed.state.workspaces) == [("ns", "w")]


# --- events --------------------------------------------------------------------------------------------------------


def test_an_older_event_is_ignored() -> None:
    """Versions compare as integers; the same version again changes nothing."""
    feed = Feed()
    feed.sees(run(version=10, on=P1))
    feed.told()
    feed.sees(run(version=9))
    assert (feed.version_of(), use(feed), feed.told()) == (10, {"ns/p1": 1}, [])
    feed.sees(run(version=10, on=P1))
    assert use(feed) == {"ns/p1": 1}


def test_delete_and_create_that_arrive_as_one() -> None:
    """Another UID under the name is a deletion and an addition: told apart, and counted once."""
    feed = Feed()
    feed.lists(P1, P2, kind="Pod")
    feed.sees(run(uid="u1", version=5, on=P1))
    feed.told()
    feed.sees(run(uid="u2", version=7, on=P2))
    released = [
        fact.subject for change in feed.changes for fact in change.facts if fact.kind is ChangeKind.CAPACITY_RELEASED
    ]
    assert released == ["ns/p1"]
    assert feed.told() == [("u1", None), (None, "u2")]
    assert use(feed) == {"ns/p2": 1}


@pytest.mark.parametrize(
    "late",
    [
        pytest.param((run(uid="u1", version=6), DELETED), id="its deletion"),
        pytest.param((run(uid="u1", version=6, on=P1), MODIFIED), id="a modification"),
    ],
)
def test_late_news_of_an_earlier_object_are_ignored(late: tuple[Json, EventType]) -> None:
    """What is older than the object of that name now says nothing about it."""
    feed = Feed()
    feed.sees(run(uid="u2", version=7))
    feed.told()
    feed.sees(*late)
    assert (list(feed.state.items), feed.told()) == (["u2"], [])


def test_a_recreated_object_in_a_list() -> None:
    """A relist after a disrupted watch shows the new object under the old name."""
    feed = Feed()
    feed.lists(P1, kind="Pod")
    feed.lists(pod("p1", uid="new", version=4), kind="Pod", version=5)
    assert list(feed.state.candidates) == ["new"]
    kinds = [fact.kind for change in feed.changes for fact in change.facts]
    assert kinds == [ChangeKind.CANDIDATE_ADDED, ChangeKind.CANDIDATE_REMOVED, ChangeKind.CANDIDATE_ADDED]


def test_deletions() -> None:
    """Of a Run, a Pod, a workspace; of what is unknown nothing."""
    feed = Feed()
    for thing in (run(on=P1), P1, workspace(), node()):
        feed.sees(thing, ADDED)
        feed.sees(thing, DELETED)
        feed.sees(thing, DELETED)
    state = feed.state
    assert (state.items, state.candidates, state.workspaces, use(feed)) == ({}, {}, {}, {})
    assert all(not view.held for view in feed.ingest.views.values())


def test_a_pod_that_is_no_runtime_pod_for_a_while() -> None:
    """The label is removed and restored; a Pod that never had it is nothing."""
    feed = Feed()
    feed.sees(pod("other", runtime=None))
    assert feed.told() == []
    feed.sees(run(on=P1))
    for version, runtime, want in ((2, "py", ["ns/p1"]), (3, None, []), (4, "py", ["ns/p1"])):
        feed.sees(pod("p1", runtime=runtime, version=version))
        assert list(feed.state.candidates) == want
    assert feed.state.view(feed.state.items["ns/a"]).columns.used.tolist() == [[1]]
    feed.sees(pod("p1", runtime=None, version=5))
    feed.sees(pod("p1", runtime=None, version=6), DELETED)
    assert feed.state.candidates == {}


def test_a_bookmark_moves_the_version_alone() -> None:
    """It is never an object, and never goes back."""
    feed = Feed()
    feed.sees(run(version=3))
    for version, want in ((9, 9), (5, 9)):
        feed.ingest.apply(WatchEvent(EventType.BOOKMARK, "Run", version))
        assert feed.ingest.views["Run"].version == want
    assert (list(feed.state.items), feed.log.lines) == (["ns/a"], [])


# --- what is told --------------------------------------------------------------------------------------------------


def test_an_observation_of_a_run_is_always_told() -> None:
    """Also one that changes nothing but a message: its reservation may wait for that version."""
    feed = Feed()
    feed.sees(run())
    feed.sees(run(version=2, status={"message": "m"}))
    (_, change) = feed.changes
    assert (change.before, change.after) == (feed.changes[0].after, feed.state.items["ns/a"])
    assert change.facts == ()


def test_a_heartbeat_that_changes_nothing_is_told_to_nobody() -> None:
    """A Pod is heard from every few seconds."""
    feed = Feed()
    feed.sees(P1)
    assert [fact.kind for fact in feed.changes[0].facts] == [ChangeKind.CANDIDATE_ADDED]
    feed.changes.clear()
    feed.sees(pod("p1", version=2, stamp="2026-01-01T00:00:00Z"))
    feed.ingest.tell()
    assert feed.changes == []


def test_facts_without_an_observation() -> None:
    """What a reservation or the passing of time brought about is told when asked to."""
    feed = Feed()
    feed.sees(P1)
    feed.sees(run())
    feed.changes.clear()
    feed.state.hold(feed.state.items["ns/a"], "ns/p1")
    feed.ingest.tell()
    assert [(change.before, change.after) for change in feed.changes] == [(None, None)]
    assert [fact.kind for fact in feed.changes[0].facts] == [ChangeKind.TARGET_ADDED]


def test_a_wait_for_a_retry_is_dated_from_its_first_sight() -> None:
    """Later observations of it do not begin it anew."""
    feed = Feed()
    status = {"attempt": 2, "conditions": [{"type": "Running", "status": "False"}]}
    feed.sees(run(status=status))
    feed.clock.advance(5)
    feed.sees(run(version=2, status=status | {"message": "m"}))
    assert feed.state.items["ns/a"].retry_seen == MONOTONIC


# --- waiting -------------------------------------------------------------------------------------------------------


async def test_waits_until_the_view_is_there() -> None:
    """Several may wait for several versions; each goes on as soon as its own is seen."""
    feed = Feed()
    deadline = MONOTONIC + 60
    waiters = [asyncio.create_task(feed.ingest.wait_for("Run", version, deadline)) for version in (5, 6)]
    await asyncio.sleep(0)
    feed.sees(P1 | {"metadata": P1["metadata"] | {"resourceVersion": "99"}})
    await asyncio.sleep(0)
    assert [waiter.done() for waiter in waiters] == [False, False], "a Pod's version is not a Run's"
    feed.sees(run(version=5))
    assert await waiters[0]
    assert not waiters[1].done()
    feed.ingest.apply(WatchEvent(EventType.BOOKMARK, "Run", 6))
    assert await waiters[1]


async def test_waits_no_longer_than_it_may() -> None:
    """A version that is there is no wait; a deadline that has come is the end of one."""
    feed = Feed()
    feed.sees(run(version=5))
    assert await feed.ingest.wait_for("Run", 5, MONOTONIC - 1)
    assert not await feed.ingest.wait_for("Run", 6, MONOTONIC)
    waiter = asyncio.create_task(feed.ingest.wait_for("Run", 6, MONOTONIC + 60))
    await asyncio.sleep(0)
    feed.clock.advance(61)
    feed.sees(run(version=5))
    assert not await waiter


# --- following -----------------------------------------------------------------------------------------------------


class ScriptedStore(DeafStore):
    """Answers for Runs from a script: what each list and each watch gives or raises in turn; then it waits for ever."""

    def __init__(self, lists: list[Listing | Exception], watches: list[list[WatchEvent | Exception]]) -> None:
        self._lists: Iterator[Listing | Exception] = iter(lists)
        self._watches = iter(watches)
        self.since: list[int] = []
        self.at_end = asyncio.Event()

    async def list(self, kind: str) -> AsyncIterator[Listing]:
        """See Store."""
        found = next(self._lists) if kind == "Run" else Listing(kind, 1, ())
        if isinstance(found, Exception):
            raise found
        yield found

    async def watch(self, kind: str, since: int) -> AsyncIterator[WatchEvent]:
        """See Store."""
        if kind == "Run":
            self.since.append(since)
            for event in next(self._watches, ()):
                if isinstance(event, Exception):
                    raise event
                yield event
            if len(self.since) > 1:
                self.at_end.set()
        await asyncio.Event().wait()


def event(thing: Json) -> WatchEvent:
    """Build a modification."""
    return WatchEvent(MODIFIED, "Run", int(thing["metadata"]["resourceVersion"]), decoded(thing))


@contextmanager
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a failed watch be tried again at once."""
    with monkeypatch.context() as patch:
        patch.setattr(ingesting, "RELIST_PAUSE_SECONDS", 0)
        yield


@pytest.mark.parametrize(
    ("lists", "watches", "want", "want_since"),
    [
        pytest.param(
            [listing(run("a"), version=4)],
            [[event(run("b", version=6)), KubeError("connection lost")], [event(run("c", version=7))]],
            ["ns/a", "ns/b", "ns/c"],
            [4, 6],
            id="a broken watch resumes where it was",
        ),
        pytest.param(
            [listing(run("a"), run("b"), version=4), listing(run("b"), run("d", version=9), version=9)],
            [[GoneError("too old")], []],
            ["ns/b", "ns/d"],
            [4, 9],
            id="a history that is gone is listed anew, and compared",
        ),
        pytest.param(
            [listing(run("a"), version=4), KubeError("busy"), KubeError("busy"), listing(run("b"), version=9)],
            [[GoneError("too old")], []],
            ["ns/b"],
            [4, 9],
            id="a list that fails is tried again",
        ),
        pytest.param(
            [listing(run("a"), version=4), listing(version=5), listing(run("b"), version=9)],
            [[event(run("c", version=6)), GoneError("too old")], []],
            ["ns/b"],
            [4, 9],
            id="a list that lags is asked for again before anything is watched",
        ),
    ],
)
async def test_follows_a_store_that_fails(
    monkeypatch: pytest.MonkeyPatch,
    lists: list[Listing | Exception],
    watches: list[list[WatchEvent | Exception]],
    want: list[str],
    want_since: list[int],
) -> None:
    """Nothing that the store raises ends the following."""
    store = ScriptedStore(lists, watches)
    feed = Feed(store)
    with without_pauses(monkeypatch):
        await feed.ingest.start()
        await asyncio.wait_for(store.at_end.wait(), 5)
        await feed.ingest.stop()
    assert sorted(feed.state.items) == want
    assert store.since == want_since


async def test_stops() -> None:
    """No task is left, and stopping twice is no error."""
    store = ScriptedStore([listing(version=1)], [])
    feed = Feed(store)
    await feed.ingest.start()
    assert feed.ingest.synced
    await feed.ingest.stop()
    with suppress(asyncio.CancelledError):
        await feed.ingest.stop()
    assert [task for task in asyncio.all_tasks() if (task.get_name() or "").startswith("ingest")] == []


async def test_a_bug_of_a_subscriber_is_raised_to_whoever_follows() -> None:
    """The state is unsure after that: the process must hear of it and not live on half."""
    store = ScriptedStore([listing(run("a"), version=1)], [[event(run("b", version=2))]])
    feed = Feed(store)
    await feed.ingest.start()

    def fails(change: Change) -> None:
        raise ZeroDivisionError

    feed.ingest.subscribe(fails)
    with pytest.raises(ZeroDivisionError):
        await asyncio.wait_for(feed.ingest.follow(), 5)
    await feed.ingest.stop()
