"""Scores and the choice on hand-computed cases."""

from fractions import Fraction

import pytest

from tests.oracle.build import active, asks, avoids, decide, joins, pod, run, term
from tests.oracle.rules import Verdict
from tests.oracle.scores import normalize_load, normalize_preference


def column(verdict: Verdict, plugin: str) -> dict[str, tuple[int, int, int]]:
    """Give the scores of one plugin, by Pod."""
    return {name: score.plugins[plugin] for name, score in verdict.scores.items()}


@pytest.mark.parametrize(
    ("ratios", "want_scores"),
    [
        pytest.param([], [], id="none"),
        pytest.param([3], [100], id="alone"),
        pytest.param([1, 1], [100, 100], id="two equal"),
        pytest.param([1, 2], [100, 0], id="two"),
        pytest.param([0, 0, 0], [100, 100, 100], id="all equal"),
        pytest.param([3, 2, 2, 1, 1], [0, 50, 50, 100, 100], id="groups take their first position"),
        pytest.param([1, 2, 2, 2], [100, 66, 66, 66], id="a group at the end"),
        pytest.param([1, 2, 3, 4], [100, 66, 33, 0], id="rounded down"),
    ],
)
def test_ranks(ratios: list[int], want_scores: list[int]) -> None:
    """A group of equals that starts at position s of n scores (n-1-s)*100 // (n-1)."""
    loads = {str(i): (Fraction(ratio), Fraction(ratio)) for i, ratio in enumerate(ratios)}
    assert list(normalize_load(loads).values()) == want_scores


@pytest.mark.parametrize(
    ("wishes", "want_scores"),
    [
        pytest.param([0, 0], [0, 0], id="nothing satisfied"),
        pytest.param([1, 3, 0], [33, 100, 0], id="scaled to the largest"),
        pytest.param([200, 150], [100, 75], id="above 100"),
    ],
)
def test_preference_is_scaled(wishes: list[int], want_scores: list[int]) -> None:
    """The largest sum of weights is 100, the others raw*100 // max."""
    assert list(normalize_preference({str(i): wish for i, wish in enumerate(wishes)}).values()) == want_scores


def test_load_looks_at_every_advertised_resource() -> None:
    """The largest ratio decides, of resources that are requested or not; raw is in millionths, rounded down."""
    p1, p2, p3 = pod("p1", runs="3"), pod("p2", runs="10", gpu="4", tpu="0"), pod("p3", runs="10")
    holders = [active("b", p2, resources=asks(gpu="3")), active("c", p3, resources=asks(runs="2"))]
    want_scores = {"p1": (333_333, 50, 50), "p2": (750_000, 0, 0), "p3": (300_000, 100, 100)}
    assert column(decide(run(), p1, p2, p3, *holders), "LeastLoaded") == want_scores


def test_equal_largest_ratios_are_told_apart_by_their_sum() -> None:
    """The sum of ratios decides between Pods whose largest ratio is the same."""
    p1, p2 = pod("p1", runs="2", gpu="4"), pod("p2", runs="2", gpu="4")
    verdict = decide(run(), p1, p2, active("b", p1, resources=asks(gpu="1")), active("c", p2), active("d", p1))
    assert verdict.chosen == "p2"
    verdict = decide(run(), p1, p2, run("b", resources=asks(gpu="1"), status={"phase": "Ready", "assignedPod": "p1"}))
    assert column(verdict, "LeastLoaded") == {"p1": (1_000_000, 0, 0), "p2": (500_000, 100, 100)}
    gpus = [pod("p1", runs="2", gpu="4"), pod("p2", runs="2", gpu="5")]
    verdict = decide(run(resources=asks(gpu="1")), *gpus)
    assert column(verdict, "LeastLoaded") == {"p1": (500_000, 0, 0), "p2": (500_000, 100, 100)}


def test_load_is_exact_where_doubles_are_not() -> None:
    """Capacities of 2^53 and 2^53+1 are not equal, and overcommitted ratios above the int64 range stop at its end."""
    pods = [pod("p1", mem=str(2**53)), pod("p2", mem=str(2**53 + 1))]
    assert decide(run(resources=asks(mem=str(2**53))), *pods).chosen == "p2"
    tiny = pod("p1", mem="1")
    holder = active("b", tiny, resources=asks(mem=str(2**62)))
    assert column(decide(run(), tiny, holder), "LeastLoaded") == {"p1": (2**63 - 1, 100, 100)}


def test_capacity_above_the_limit_counts_as_the_limit() -> None:
    """Pods that advertise 2^62 and 10E are equally loaded."""
    pods = [pod("p1", mem=str(2**62)), pod("p2", mem="10E")]
    verdict = decide(run(resources=asks(mem=str(2**61))), *pods)
    assert column(verdict, "LeastLoaded") == dict.fromkeys(("p1", "p2"), (500_000, 100, 100))


def test_ranks_are_taken_over_feasible_pods() -> None:
    """A Pod that is rejected takes no position."""
    full = pod("p0", runs="1")
    verdict = decide(run(), full, pod("p1", runs="4"), active("b", full))
    assert column(verdict, "LeastLoaded") == {"p1": (250_000, 100, 100)}


def test_preference_sums_the_weights_that_a_pod_satisfies() -> None:
    """A preferred affinity term wants a target there, a preferred anti-affinity term wants none."""
    p1, p2, p3 = (pod(name, runs="9") for name in ("p1", "p2", "p3"))
    affinity = joins(preferred=[(10, term(app="web"))]) | avoids(preferred=[(30, term(app="db"))])
    others = [active("b", p1, labels={"app": "web"}), active("c", p2, labels={"app": "db"})]
    verdict = decide(run(affinity=affinity), p1, p2, p3, *others)
    want_scores = {"p1": (40, 100, 100), "p2": (0, 0, 0), "p3": (30, 75, 75)}
    assert column(verdict, "PreferredRunAffinity") == want_scores
    assert {name: score.total for name, score in verdict.scores.items()} == {"p1": 150, "p2": 50, "p3": 175}
    assert verdict.chosen == "p3"


def test_tie_goes_to_the_smallest_name() -> None:
    """Equal totals are told apart by name, as text: p10 comes before p9."""
    assert decide(run(), pod("p9"), pod("p10"), pod("p11", runs="1")).chosen == "p10"
