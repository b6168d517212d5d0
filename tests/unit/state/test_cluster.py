"""The state as a whole: identity is the UID, use outlives what it is of, and every change of use is told."""

from collections.abc import Callable

import pytest

from berth_server.objects.changes import ChangeKind
from berth_server.objects.clock import SECOND
from berth_server.state.candidate import Availability, Candidate, PoolKey
from berth_server.state.cluster import ClusterState
from berth_server.state.view import Workspace
from tests.builders import MONOTONIC, NOW, avoids, candidate, item, see, selector, state_of, term

WEB = {"app": "web"}
ADDED, REMOVED = ChangeKind.CANDIDATE_ADDED, ChangeKind.CANDIDATE_REMOVED
UP, DOWN = ChangeKind.CANDIDATE_AVAILABLE, ChangeKind.CANDIDATE_UNAVAILABLE
CAPACITY, RELEASED = ChangeKind.CANDIDATE_CAPACITY, ChangeKind.CAPACITY_RELEASED
TARGET, NO_TARGET = ChangeKind.TARGET_ADDED, ChangeKind.TARGET_REMOVED
WORKSPACE = ChangeKind.WORKSPACE_CHANGED


def used(state: ClusterState, runtime: str = "py") -> dict[str, int]:
    """Runs taken, by name, as the pool's columns show it."""
    pool = state.pools.get(PoolKey("ns", runtime))
    if pool is None:
        return {}
    columns = pool.columns()
    return dict(zip(columns.names, columns.used[columns.resources["runs"]].tolist(), strict=True))


def availability(state: ClusterState, name: str = "p1") -> Availability:
    """What the pool's column says of a candidate."""
    columns = state.pools[PoolKey("ns", "py")].columns()
    return Availability(int(columns.availability[columns.row_of_name[name]]))


# --- identity ------------------------------------------------------------------------------------------------------


def test_use_may_come_before_its_candidate() -> None:
    """Runs that were listed before the Pods count in the very step in which the Pod appears."""
    state = state_of(item("a", on="p1"), item("b", on="p1"))
    assert used(state) == {}
    see(state, candidate("p1"))
    assert used(state) == {"p1": 2}


def test_a_recreated_candidate_starts_empty() -> None:
    """Another UID under the same name is another Pod; what its predecessor is used for stays with that."""
    state = state_of(candidate("p1"), item("a", on="p1"))
    see(state, candidate("p1", uid="new"))
    assert used(state) == {"p1": 0}
    assert list(state.candidates) == ["new"]
    assert dict(state.occupancy.ledger.use("ns/p1")) == {"runs": 1}
    assert not state.view(item()).targets(selector({})).anywhere
    see(state, item("a", on="p1", on_uid="new", version=2))
    assert used(state) == {"p1": 1}
    assert list(state.occupancy.ledger.candidates()) == ["new"]


def test_a_recreated_candidate_is_seen_for_the_first_time() -> None:
    """Trust in a heartbeat is not inherited by name."""
    state = state_of(candidate("p1", age=400.0), live=True)
    see(state, candidate("p1", age=20.0), monotonic=MONOTONIC + 1)
    assert availability(state) is Availability.AVAILABLE, "it was seen to move"
    see(state, candidate("p1", uid="new", age=20.0), monotonic=MONOTONIC + 2)
    assert availability(state) is Availability.STALE_HEARTBEAT


def test_a_recreated_item_is_another_one() -> None:
    """The watch may show it as one modification: the old one's use goes, the new one's comes."""
    state = state_of(candidate("p1"), candidate("p2"), item("a", on="p1"))
    see(state, item("a", uid="new", on="p2"))
    assert used(state) == {"p1": 0, "p2": 1}
    assert list(state.items) == ["new"]
    assert state.item_uids == {("ns", "a"): "new"}


def test_a_relabelled_candidate_moves_with_its_use() -> None:
    """Another pool shows it with all that it is used for; the old pool is gone with its last row."""
    state = state_of(candidate("p1"), item("a", on="p1"))
    see(state, candidate("p1", runtime="js", version=2))
    assert (used(state), used(state, "js")) == ({}, {"p1": 1})
    assert list(state.pools) == [("ns", "js")]
    see(state, item("b", on="p1"))
    see(state, candidate("p1", version=3))
    assert (used(state), used(state, "js")) == ({"p1": 2}, {})


def test_a_relabelled_candidate_keeps_its_heartbeat() -> None:
    """It is the same Pod: trust in its stamp goes on."""
    state = state_of(candidate("p1", age=400.0), live=True)
    see(state, candidate("p1", age=20.0), monotonic=MONOTONIC + 1)
    see(state, candidate("p1", age=20.0, runtime="js"), monotonic=MONOTONIC + 2)
    assert state.availability(state.candidates["ns/p1"]) is Availability.AVAILABLE


def test_a_candidate_that_leaves_and_returns_finds_its_use() -> None:
    """Label removed and restored: meanwhile use may change, and counts when the Pod is back."""
    state = state_of(candidate("p1"), item("a", on="p1"), item("b", on="p1"))
    state.remove_candidate("ns/p1")
    assert state.pools == {}
    state.remove_item("ns/b")
    see(state, item("c", on="p1"), item("d", on="p1"))
    see(state, candidate("p1"))
    assert used(state) == {"p1": 3}


def test_a_candidate_that_returns_is_seen_for_the_first_time() -> None:
    """Its stamp moved while it was away; nobody saw that, so it counts by its own age alone."""
    state = state_of(candidate("p1", age=5.0), live=True)
    state.remove_candidate("ns/p1")
    see(state, candidate("p1", age=0.0), monotonic=MONOTONIC + 20)
    assert availability(state) is Availability.STALE_HEARTBEAT, "the stamp is 20 s old"


def test_an_assignment_by_name_follows_the_name() -> None:
    """Active without a UID counts on the Pod of that name as it is now, whoever that is, in any pool."""
    state = state_of(item("a", on="p1", on_uid="", labels=WEB), candidate("p1"))
    seen = [used(state)]
    see(state, candidate("p1", uid="second"))
    seen.append(used(state))
    see(state, candidate("p1", uid="second", runtime="js"))
    seen.append(used(state, "js"))
    state.remove_candidate("second")
    assert list(state.occupancy.ledger.candidates()) == []
    see(state, candidate("p1", uid="third"))
    seen.append(used(state))
    assert seen == [{"p1": 1}] * 4
    assert list(state.occupancy.ledger.candidates()) == ["third"]


def test_namespaces_that_share_names_are_apart() -> None:
    """A Pod of the same name elsewhere has its own use and its own assignments by name."""
    state = state_of(
        candidate("p1"),
        candidate("p1", namespace="other"),
        item("a", on="p1"),
        item("a", namespace="other", on="p1", on_uid=""),
        item("b", namespace="other", on="p1"),
    )
    assert dict(state.occupancy.ledger.use("ns/p1")) == {"runs": 1}
    assert dict(state.occupancy.ledger.use("other/p1")) == {"runs": 2}


def test_removing_what_is_not_there_changes_nothing() -> None:
    """A deletion that comes twice is no event."""
    state = state_of(candidate("p1"), item("a", on="p1"))
    before = state.generation
    state.take_facts()
    state.remove_item("x")
    state.remove_candidate("x")
    state.remove_workspace("ns", "x")
    state.unhold("ns/a")
    assert state.generation == before
    assert state.take_facts() == []


def test_churn_leaves_nothing_behind() -> None:
    """A thousand Runs through one Pod: use is exact at every moment, and nothing is kept of those that went."""
    state = state_of(candidate("p1"))
    for number in range(1000):
        name = f"r{number}"
        labels = {"app": "web", "number": str(number)}
        see(state, item(name, labels=labels))
        state.hold(state.items[f"ns/{name}"], "ns/p1")
        on_uid = "" if number % 3 == 0 else None
        see(state, item(name, version=2, on="p1", on_uid=on_uid, labels=labels, affinity=avoids(term(id="x"))))
        state.unhold(f"ns/{name}")
        assert used(state)["p1"] == min(number, 2) + 1
        if number >= 2:
            gone = f"ns/r{number - 2}"
            if number % 2:
                see(state, item(f"r{number - 2}", version=3, on="p1", phase="Succeeded"))
            state.remove_item(gone)
    state.remove_item("ns/r998")
    state.remove_item("ns/r999")
    occupancy = state.occupancy
    assert (len(occupancy.ledger), occupancy.targets, occupancy._where, occupancy._by_name) == (0, {}, {}, {})
    assert (state.items, state.item_uids, state.holds) == ({}, {}, {})
    assert used(state) == {"p1": 0}


# --- reservations --------------------------------------------------------------------------------------------------


def test_a_hold_survives_observations_of_its_item() -> None:
    """A new message, or another's view of the item, does not free the room."""
    judged = item("a", requests={"runs": 2})
    state = state_of(candidate("p1"), candidate("p2"), judged)
    state.hold(judged, "ns/p1")
    see(state, item("a", version=2, message="waiting", requests={"runs": 2}))
    assert used(state) == {"p1": 2, "p2": 0}
    see(state, item("a", version=3, on="p2", requests={"runs": 2}))
    assert used(state) == {"p1": 2, "p2": 2}
    state.unhold("ns/a")
    assert used(state) == {"p1": 0, "p2": 2}


def test_a_hold_counts_on_a_candidate_that_returns() -> None:
    """Reserved room outlives the candidate's absence."""
    judged = item("a")
    state = state_of(candidate("p1"), judged)
    state.hold(judged, "ns/p1")
    state.remove_candidate("ns/p1")
    see(state, candidate("p1"))
    assert used(state) == {"p1": 1}


def test_the_item_goes_before_its_hold() -> None:
    """Deleted while reserved: nothing counts any more, and ending the hold afterwards changes nothing."""
    judged = item("a")
    state = state_of(candidate("p1"), judged)
    state.hold(judged, "ns/p1")
    state.remove_item("ns/a")
    assert used(state) == {"p1": 0}
    state.unhold("ns/a")
    assert used(state) == {"p1": 0}
    assert state.holds == {}


# --- availability --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seen", "want"),
    [
        pytest.param(candidate(), Availability.AVAILABLE, id="up"),
        pytest.param(
            candidate(terminating=True, ready=False, age=99.0, invalid=True), Availability.TERMINATING, id="terminating"
        ),
        pytest.param(candidate(ready=False, age=99.0, invalid=True), Availability.NOT_READY, id="not ready"),
        pytest.param(candidate(age=99.0, invalid=True), Availability.STALE_HEARTBEAT, id="stale"),
        pytest.param(candidate(age=None, invalid=True), Availability.STALE_HEARTBEAT, id="never heard of"),
        pytest.param(candidate(age=-99.0, invalid=True), Availability.SKEWED_CLOCK, id="skewed"),
        pytest.param(candidate(invalid=True), Availability.INVALID_CAPACITY, id="invalid capacity"),
    ],
)
def test_the_first_reason_counts(seen: Candidate, want: Availability) -> None:
    """Of several things that are wrong with a Pod the first in this order is its reason."""
    assert availability(state_of(seen)) is want


@pytest.mark.parametrize(
    ("later", "want"),
    [
        pytest.param(candidate(capacity={"runs": 7}), {"runs": 7}, id="more"),
        pytest.param(candidate(capacity={"runs": 0}), {"runs": 0}, id="drained"),
        pytest.param(candidate(capacity={"gpu": 3}), {"gpu": 3, "runs": 2}, id="another resource"),
        pytest.param(candidate(invalid=True), {}, id="can't be read any more"),
    ],
)
def test_a_change_of_capacity_shows(later: Candidate, want: dict[str, int]) -> None:
    """The columns have it at the next look, whether or not anything else changed."""
    state = state_of(candidate())
    state.view(item())
    see(state, later)
    columns = state.view(item()).columns
    advertised = {resource: int(columns.capacity[index, 0]) for resource, index in columns.resources.items()}
    assert {resource: units for resource, units in advertised.items() if units >= 0} == want


def test_time_makes_it_unavailable() -> None:
    """A heartbeat that expires shows in the columns, and is told, without any event."""
    state = state_of(candidate("p1", age=0.0), candidate("p2", age=5.0), live=True)
    before, _ = state.generation, state.take_facts()
    state.advance(monotonic=MONOTONIC + 10, wall=NOW + 10 * SECOND)
    assert (state.generation, state.take_facts()) == (before, [])
    state.advance(monotonic=MONOTONIC + 12, wall=NOW + 12 * SECOND)
    assert (availability(state, "p1"), availability(state, "p2")) == (
        Availability.AVAILABLE,
        Availability.STALE_HEARTBEAT,
    )
    assert [(fact.kind, fact.subject) for fact in state.take_facts()] == [(DOWN, "ns/p2")]
    assert state.generation > before


def test_a_clock_that_stands_still_makes_nothing_unavailable() -> None:
    """A cluster from files is judged as of one moment for ever."""
    state = state_of(candidate("p1", age=14.0))
    state.advance(monotonic=MONOTONIC + 9999, wall=NOW + 9999 * SECOND)
    assert availability(state) is Availability.AVAILABLE


# --- facts ---------------------------------------------------------------------------------------------------------

Change = Callable[[ClusterState], None]


def shows(*things: object, monotonic: float = MONOTONIC) -> Change:
    """Observe things."""
    return lambda state: see(state, *things, monotonic=monotonic)  # type: ignore[arg-type]


RUNNING = item("a", on="p1", labels=WEB)
POD = candidate("p1", age=5.0)


@pytest.mark.parametrize(
    ("change", "want"),
    [
        pytest.param(shows(candidate("p2")), [(ADDED, "py")], id="a candidate comes"),
        pytest.param(lambda state: state.remove_candidate("ns/p1"), [(REMOVED, "py")], id="a candidate goes"),
        pytest.param(shows(candidate("p1", uid="new")), [(REMOVED, "py"), (ADDED, "py")], id="is recreated"),
        pytest.param(shows(candidate("p1", runtime="js")), [(REMOVED, "py"), (ADDED, "js")], id="is relabelled"),
        pytest.param(shows(candidate("p1", age=4.0, version=2)), [], id="a heartbeat that changes nothing"),
        pytest.param(shows(candidate("p1", age=5.0, ready=False)), [(DOWN, "py")], id="is not ready"),
        pytest.param(shows(candidate("p1", age=5.0, terminating=True)), [(DOWN, "py")], id="is terminating"),
        pytest.param(shows(candidate("p1", age=5.0, capacity={"runs": 9})), [(CAPACITY, "py")], id="capacity grows"),
        pytest.param(shows(candidate("p1", age=5.0, capacity={"runs": 1})), [(CAPACITY, "py")], id="capacity shrinks"),
        pytest.param(shows(item("b", on="p1")), [(TARGET, "")], id="a Run is assigned"),
        pytest.param(shows(item("b")), [], id="a Run is Pending"),
        pytest.param(shows(item("b", on="p1", on_uid="x")), [], id="a Run is assigned to what is not in view"),
        pytest.param(shows(item("a", on="p1", labels=WEB, version=2, message="m")), [], id="a message"),
        pytest.param(
            shows(item("a", on="p1", labels=WEB, phase="Succeeded")),
            [(RELEASED, "py"), (NO_TARGET, "")],
            id="a Run ends",
        ),
        pytest.param(
            lambda state: state.remove_item("ns/a"), [(RELEASED, "py"), (NO_TARGET, "")], id="a Run is deleted"
        ),
        pytest.param(shows(item("a", on="p1", labels={})), [(NO_TARGET, ""), (TARGET, "")], id="labels change"),
        pytest.param(
            shows(item("a", on="p1", labels=WEB, affinity=avoids(term(id="x")))),
            [(NO_TARGET, ""), (TARGET, "")],
            id="what it repels changes",
        ),
        pytest.param(shows(item("a", on="p1", labels=WEB, requests={"gpu": 1})), [], id="it takes more"),
        pytest.param(lambda state: state.hold(state.items["ns/a"], "ns/p1"), [], id="is reserved where it runs"),
        pytest.param(
            shows(Workspace("u", "ns", "w", 1, "py", "Bound", "p1", "")), [(WORKSPACE, "")], id="a workspace comes"
        ),
    ],
)
def test_facts(change: Change, want: list[tuple[ChangeKind, str]]) -> None:
    """What may help or concern somebody is told, once; what changes nothing of use is not."""
    state = state_of(POD, RUNNING)
    state.take_facts()
    before = state.generation
    change(state)
    facts = state.take_facts()
    assert [(fact.kind, fact.runtime) for fact in facts] == want
    assert {fact.namespace for fact in facts} <= {"ns"}
    assert state.generation > before
    assert state.take_facts() == []


@pytest.mark.parametrize(
    ("now", "want"),
    [
        pytest.param({"gpu": 1}, [RELEASED], id="less of one"),
        pytest.param({"gpu": 1, "mem": 9}, [RELEASED], id="less of one, more of another"),
        pytest.param({"gpu": 3}, [], id="more"),
        pytest.param({}, [RELEASED], id="none of one"),
    ],
)
def test_less_use_is_capacity_released(now: dict[str, int], want: list[ChangeKind]) -> None:
    """A Run that takes less of anything frees that."""
    state = state_of(candidate("p1"), item("a", on="p1", requests={"gpu": 2}))
    state.take_facts()
    see(state, item("a", on="p1", requests=now, version=2))
    assert [fact.kind for fact in state.take_facts()] == want


def test_a_dropped_hold_frees_and_a_handed_over_one_does_not() -> None:
    """Hand-over is no event: nothing was freed, no target went."""
    state = state_of(candidate("p1"), item("a"), item("b"))
    for name in ("a", "b"):
        state.hold(state.items[f"ns/{name}"], "ns/p1")
    state.take_facts()
    see(state, item("a", on="p1", version=2))
    state.unhold("ns/a")
    assert state.take_facts() == []
    state.unhold("ns/b")
    assert [fact.kind for fact in state.take_facts()] == [RELEASED, NO_TARGET]


def test_availability_and_capacity_that_change_at_once_are_both_told() -> None:
    """Who was rejected for one of them waits for no news of the other."""
    state = state_of(candidate("p1", ready=False))
    state.take_facts()
    see(state, candidate("p1", capacity={"runs": 9}))
    assert {fact.kind for fact in state.take_facts()} == {UP, CAPACITY}


# --- overcommitment ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capacity", "requests", "want"),
    [
        pytest.param({}, {"runs": 2}, [], id="full is not too full"),
        pytest.param({}, {"runs": 3}, ["p1"], id="too many runs"),
        pytest.param({"runs": 0}, {}, ["p1"], id="drained under its Runs"),
        pytest.param({"gpu": 1}, {"gpu": 2}, ["p1"], id="too much of another resource"),
        pytest.param({}, {"gpu": 2}, [], id="of what it does not advertise"),
    ],
)
def test_overcommitted(capacity: dict[str, int], requests: dict[str, int], want: list[str]) -> None:
    """More used than advertised, in some resource: it is detected, and nothing is evicted."""
    state = state_of(candidate("p1", capacity=capacity), candidate("p2"), item("a", on="p1", requests=requests))
    assert [found.name for found in state.overcommitted()] == want
    assert "ns/a" in state.items


def test_what_is_not_in_view_is_not_overcommitted() -> None:
    """Use of a UID that is gone, and a Pod whose capacity can't be read, are no overcommitment."""
    state = state_of(item("a", on="p1"), candidate("p2", invalid=True), item("b", on="p2"))
    assert list(state.overcommitted()) == []
