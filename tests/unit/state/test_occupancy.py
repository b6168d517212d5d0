"""Occupancy: an item counts where it is assigned and where it is reserved, on each candidate once."""

import pytest

from berth_server.objects.item import Item
from berth_server.state.occupancy import Occupancy, Presence
from tests.builders import avoids, item, selector, term

WEB = selector(app="web")
ONE_RUN = {"runs": 1}


class Places:
    """An occupancy, the names that resolve, and what it told."""

    def __init__(self, **names: str) -> None:
        self.names = names
        self.told: list[tuple[str, str, bool, bool]] = []
        self.occupancy = Occupancy(self._resolve, self._touched)

    def _resolve(self, namespace: str, name: str) -> str | None:
        return self.names.get(name)

    def _touched(self, candidate: str, uid: str, before: Presence | None, after: Presence | None) -> None:
        self.told.append((candidate, uid, before is not None, after is not None))

    def use(self, candidate: str) -> dict[str, int]:
        """What is taken of the candidate."""
        return dict(self.occupancy.ledger.use(candidate))


@pytest.mark.parametrize(
    ("phase", "want"),
    [
        pytest.param("", {}, id="no phase"),
        pytest.param("Pending", {}, id="Pending"),
        pytest.param("Scheduled", ONE_RUN, id="Scheduled"),
        pytest.param("Running", ONE_RUN, id="Running"),
        pytest.param("Ready", ONE_RUN, id="Ready"),
        pytest.param("Hibernating", ONE_RUN, id="a phase that this version does not know"),
        pytest.param("Succeeded", {}, id="Succeeded"),
        pytest.param("Failed", {}, id="Failed"),
        pytest.param("Timeout", {}, id="Timeout"),
        pytest.param("Cancelled", {}, id="Cancelled"),
    ],
)
def test_a_phase_holds_capacity_or_not(phase: str, want: dict[str, int]) -> None:
    """Active and unknown phases count where they are assigned, others nowhere."""
    places = Places()
    assigned = item(on="p1", phase=phase) if phase else item(phase="Pending")
    places.occupancy.place(assigned, None)
    assert places.use("ns/p1") == want


@pytest.mark.parametrize("phase", [pytest.param("Running", id="active"), pytest.param("Odd", id="unknown")])
def test_without_an_assignment_it_is_nowhere(phase: str) -> None:
    """An active item that names no candidate counts nowhere."""
    places = Places()
    places.occupancy.place(item(phase=phase), None)
    assert dict(places.occupancy.where("ns/a")) == {}


def test_assigned_and_reserved_on_one_candidate_counts_once() -> None:
    """Hand-over has no instant at which the item counts twice, or not at all."""
    places = Places()
    pending, assigned = item(requests={"gpu": 2}), item(on="p1", requests={"gpu": 2})
    uses = []
    for seen, reserved in ((pending, "ns/p1"), (assigned, "ns/p1"), (assigned, None)):
        places.occupancy.place(seen, reserved)
        uses.append(places.use("ns/p1"))
    assert uses == [{"gpu": 2, "runs": 1}] * 3
    assert places.told == [("ns/p1", "ns/a", False, True)]


def test_assigned_here_and_reserved_there_counts_on_both() -> None:
    """Another scheduler's assignment does not free what is reserved."""
    places = Places()
    places.occupancy.place(item(on="p1"), "ns/p2")
    assert places.use("ns/p1") == places.use("ns/p2") == ONE_RUN


def test_moves_and_leaves() -> None:
    """A move discharges one place and charges the other; a deletion both."""
    places = Places()
    places.occupancy.place(item(on="p1"), None)
    places.occupancy.place(item(on="p2"), "ns/p3")
    assert (places.use("ns/p1"), places.use("ns/p2"), places.use("ns/p3")) == ({}, ONE_RUN, ONE_RUN)
    places.occupancy.vacate("ns/a")
    assert (places.use("ns/p2"), places.use("ns/p3")) == ({}, {})
    assert places.occupancy.targets == {}
    assert places.occupancy._where == {}


def test_changed_labels_and_terms_are_those_last_observed() -> None:
    """A relabelled item attracts by its new labels, and repels by its new terms."""
    places = Places()
    places.occupancy.place(item(on="p1", labels={"app": "web"}, affinity=avoids(term(app="web"))), None)
    places.occupancy.place(item(on="p1", labels={"app": "db"}), None)
    targets = places.occupancy.targets["ns"]
    assert targets.matching(WEB, {}) == set()
    assert targets.matching(selector(app="db"), {}) == {"ns/p1"}
    assert not targets.repels


def test_an_observation_that_changes_no_presence_tells_nobody() -> None:
    """A new message or version is no news to the candidate."""
    places = Places()
    places.occupancy.place(item(on="p1"), None)
    places.told.clear()
    places.occupancy.place(item(on="p1", version=2, message="still here", attempt=3), None)
    assert places.told == []


def test_without_uid_it_follows_the_name() -> None:
    """An assignment by name alone counts on whoever bears the name, and on nobody while nobody does."""
    places = Places()
    named = item(on="p1", on_uid="")
    places.occupancy.place(named, None)
    assert dict(places.occupancy.where("ns/a")) == {}
    assert places.occupancy.named("ns", "p1") == ["ns/a"]
    for uid in ("first", "second"):
        places.names["p1"] = uid
        places.occupancy.place(named, None)
        assert list(places.occupancy.where("ns/a")) == [uid]
    assert places.use("first") == {}


@pytest.mark.parametrize(
    "later",
    [
        pytest.param(item(on="p1"), id="the UID is written"),
        pytest.param(item(on="p1", on_uid="", phase="Succeeded"), id="it ends"),
        pytest.param(item(on="p2", on_uid=""), id="it is on another name"),
    ],
)
def test_stops_following_a_name(later: Item) -> None:
    """What is no longer assigned by that name alone is not asked about when the name changes hands."""
    places = Places()
    places.occupancy.place(item(on="p1", on_uid=""), None)
    places.occupancy.place(later, None)
    assert places.occupancy.named("ns", "p1") == []


def test_forgets_names_with_the_item() -> None:
    """A deleted item leaves no entry behind."""
    places = Places()
    places.occupancy.place(item(on="p1", on_uid=""), None)
    places.occupancy.vacate("ns/a")
    assert (places.occupancy._by_name, places.occupancy._name_of) == ({}, {})


def test_namespaces_are_apart() -> None:
    """Targets of one namespace are none of another."""
    places = Places()
    places.occupancy.place(item(on="p1", labels={"app": "web"}), None)
    places.occupancy.place(item(namespace="other", on="p1", labels={"app": "web"}), None)
    assert places.occupancy.targets["ns"].matching(WEB, {}) == {"ns/p1"}
    assert places.occupancy.targets["other"].matching(WEB, {}) == {"other/p1"}


def test_unreadable_requests_count_one_run() -> None:
    """An active item whose requests can't be read is not free."""
    places = Places()
    places.occupancy.place(item(on="p1", requests={"gpu": "many", "mem": 5}), None)
    assert places.use("ns/p1") == ONE_RUN
