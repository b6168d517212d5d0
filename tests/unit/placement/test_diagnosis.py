"""The diagnosis: reasons by count, then by filter-chain order, in a text that holds words and counts alone."""

from typing import Any

import pytest

from berth_server.framework.engine import Engine
from berth_server.objects.item import Item
from berth_server.placement.diagnosis import diagnose, of_fault, summarize
from berth_server.placement.questions import CandidateRef
from berth_server.state.candidate import Candidate
from tests.builders import DEFAULT_PROFILE, candidate, cycle_of, item, joins, state_of, term

STALE = [candidate(f"stale{number}", age=99.0) for number in range(3)]
DOWN = [candidate(f"down{number}", ready=False) for number in range(3)]
FULL = [candidate(f"full{number}", capacity={"runs": 0}) for number in range(4)]
JUDGED = item("judged")


@pytest.mark.parametrize(
    ("things", "judged", "want"),
    [
        pytest.param([], JUDGED, "0/0 runtime pods: NoRuntimePods", id="an empty pool"),
        pytest.param([candidate()], JUDGED, "", id="something is feasible"),
        pytest.param([candidate(), *FULL], JUDGED, "", id="something is feasible among others"),
        pytest.param(STALE[:1], JUDGED, "0/1 runtime pods: 1 StaleHeartbeat", id="one"),
        pytest.param(
            [*STALE, *FULL, *DOWN],
            JUDGED,
            "0/10 runtime pods: 4 InsufficientCapacity, 3 RuntimePodNotReady, 3 StaleHeartbeat",
            id="by count, then in filter-chain order",
        ),
        pytest.param(
            [candidate("free1"), candidate("free2"), *FULL[:1], *DOWN[:1]],
            item("judged", affinity=joins(term(app="web"))),
            "0/4 runtime pods: 2 UnsatisfiedRunAffinity, 1 RuntimePodNotReady, 1 InsufficientCapacity",
            id="reasons of several plugins",
        ),
    ],
)
def test_the_text_of_a_run_that_waits(things: list[Candidate], judged: Item, want: str) -> None:
    """The full diagnosis and the summary of a decision say the same."""
    state = state_of(*things)
    cycle = cycle_of(state, judged)
    found = diagnose(cycle, cycle.filter())
    assert found.message == want
    decision = Engine(DEFAULT_PROFILE).decide(cycle_of(state, judged))
    summary = summarize(cycle, decision.counts)
    assert (summary.considered, summary.feasible, summary.message) == (found.considered, found.feasible, found.message)
    assert [(one.reason, one.count) for one in summary.reasons] == [(one.reason, one.count) for one in found.reasons]


def test_counts_add_up() -> None:
    """Every candidate is feasible or has one reason, also where something is feasible."""
    cycle = cycle_of(state_of(candidate(), *STALE, *FULL), JUDGED)
    found = diagnose(cycle, cycle.filter())
    assert (found.considered, found.feasible) == (8, 1)
    assert [(one.plugin, one.reason, one.count) for one in found.reasons] == [
        ("RuntimePodAvailability", "InsufficientCapacity", 4),
        ("RuntimePodAvailability", "StaleHeartbeat", 3),
    ]


def test_names_and_numbers_stand_beside_the_text() -> None:
    """The nearest miss is named for its reason, and nowhere in what goes into a status."""
    near = candidate("near", capacity={"gpu": 3})
    cycle = cycle_of(state_of(near, candidate("far", capacity={"gpu": 1})), item("judged", requests={"gpu": 4}))
    found = diagnose(cycle, cycle.filter())
    (reason,) = found.reasons
    assert (reason.nearest_miss, reason.nearest) == ("gpu: needs 4, free 3", CandidateRef("near", "ns/near"))
    assert found.message == "0/2 runtime pods: 2 InsufficientCapacity"


def test_the_summary_of_a_decision_has_counts_alone() -> None:
    """Nobody looks for the nearest miss on the hot path."""
    cycle = cycle_of(state_of(*FULL), JUDGED)
    (reason,) = summarize(cycle, [0] * 7 + [4]).reasons
    assert (reason.reason, reason.count, reason.nearest_miss, reason.nearest) == ("InsufficientCapacity", 4, "", None)


def test_the_text_is_bounded() -> None:
    """Its length depends on the code alone: every reason there is, and numbers."""
    longest = sum(len(f", 1000000 {reason}") for _, reason in DEFAULT_PROFILE.reasons)
    assert longest < 1024
    names: Any = [candidate(f"{'n' * 200}{number}", age=99.0) for number in range(5)]
    cycle = cycle_of(state_of(*names), item("judged", requests={"r" * 60: 1}))
    assert diagnose(cycle, cycle.filter()).message == "0/5 runtime pods: 5 StaleHeartbeat"


def test_a_fault_of_the_item_itself() -> None:
    """No candidate was judged; the reason carries what is wrong."""
    found = of_fault("InvalidResources", "spec.resources: is odd")
    assert (found.considered, found.feasible, found.message) == (0, 0, "InvalidResources")
    assert [(one.reason, one.nearest_miss) for one in found.reasons] == [("InvalidResources", "spec.resources: is odd")]
