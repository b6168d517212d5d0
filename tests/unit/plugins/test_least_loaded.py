"""LeastLoaded: ranks by projected load, exact, equal for equal Pods."""

from typing import Any

import numpy as np
import pytest

from berth_server.objects.item import Item
from berth_server.plugins.least_loaded import LeastLoaded
from berth_server.state.candidate import Candidate
from tests.builders import candidate, cycle_of, item, state_of


def scores(*things: Candidate | Item, **requests: Any) -> tuple[list[int], list[int]]:
    """Score a Run on things: (normalised, raw) of all rows."""
    cycle = cycle_of(state_of(*things), item("judged", requests=requests))
    every = np.arange(len(cycle.view.columns))
    return cycle.score(every).normalized[1].tolist(), [cycle.raw(row)[1] for row in every.tolist()]


@pytest.mark.parametrize(
    ("things", "want", "want_raw"),
    [
        pytest.param([candidate("p1")], [100], [500_000], id="one Pod alone"),
        pytest.param([candidate("p1"), candidate("p2")], [100, 100], [500_000] * 2, id="equal Pods score alike"),
        pytest.param(
            [candidate("p1"), candidate("p2"), item("o", on="p1")], [0, 100], [1_000_000, 500_000], id="one is busier"
        ),
        pytest.param(
            [candidate("p1"), candidate("p2", capacity={"runs": 4}), candidate("p3", capacity={"runs": 1})],
            [50, 100, 0],
            [500_000, 250_000, 1_000_000],
            id="three ranks",
        ),
        pytest.param(
            [candidate("p1"), candidate("p2", capacity={"runs": 3}), candidate("p3")],
            [50, 100, 50],
            [500_000, 333_333, 500_000],
            id="a group starts at the position of its first",
        ),
        pytest.param(
            [candidate(f"p{number}", capacity={"runs": number}) for number in range(1, 5)],
            [0, 33, 66, 100],
            [1_000_000, 500_000, 333_333, 250_000],
            id="rounded down",
        ),
        pytest.param(
            [candidate("p1", capacity={"runs": 1000}), candidate("p2", capacity={"runs": 999})],
            [100, 0],
            [1000, 1001],
            id="the rank, not the ratio: a hair is as good as a mile",
        ),
        pytest.param(
            [candidate("p1", capacity={"gpu": 4}), candidate("p2"), item("o", on="p1", requests={"gpu": 4})],
            [0, 100],
            [1_000_000, 500_000],
            id="what is advertised counts, requested or not",
        ),
        pytest.param(
            [candidate("p1", capacity={"gpu": 10}), candidate("p2"), item("o", on="p1", requests={"gpu": 1})],
            [0, 100],
            [1_000_000, 500_000],
            id="the other Run's own runs count",
        ),
        pytest.param(
            [candidate("p1", capacity={"gpu": 0}), candidate("p2")], [100, 100], [500_000] * 2, id="0 has no ratio"
        ),
        pytest.param(
            [candidate("p1", capacity={"runs": 0}), candidate("p2")], [100, 0], [0, 500_000], id="no ratio at all is 0"
        ),
    ],
)
def test_ranks(things: list[Candidate | Item], want: list[int], want_raw: list[int]) -> None:
    """A group of equal loads that starts at position s of n gets (n-1-s)*100 // (n-1)."""
    assert scores(*things) == (want, want_raw)


def test_the_sum_breaks_ties_of_the_largest() -> None:
    """Two Pods are equally full in their fullest resource: the one with less in the others comes first."""
    pods = [candidate(name, capacity={"gpu": 4}) for name in ("p1", "p2")]
    others = [item("a", on="p1", requests={"gpu": 1}), item("b", on="p2")]
    assert scores(*pods, *others) == ([0, 100], [1_000_000, 1_000_000])


def test_the_request_is_projected() -> None:
    """Load is what it would be with the Run there."""
    small, large = candidate("p1", capacity={"mem": 10}), candidate("p2", capacity={"mem": 100})
    used = item("o", on="p2", requests={"mem": 60})
    assert scores(small, large, used)[0] == [100, 0]
    assert scores(small, large, used, mem=9, runs=1)[0] == [100, 0]
    assert scores(small, candidate("p2", capacity={"mem": 100, "runs": 3}), used, mem=9)[0] == [0, 100]


def test_use_beyond_measure_is_shown_as_it_can_be() -> None:
    """The raw score of a Pod that is overcommitted beyond int64 is the largest there is."""
    pods = [candidate("p1", capacity={"mem": 1}), candidate("p2", capacity={"mem": 5})]
    full = [item(name, on=name, requests={"mem": 2**62}) for name in ("p1", "p2")]
    assert scores(*pods, *full) == ([0, 100], [2**63 - 1, 2**63 - 1])


def test_it_leads_alone() -> None:
    """Where it alone scores it names the best row without ranking; that is the row that ranks best."""
    cycle = cycle_of(state_of(candidate("p1"), candidate("p2"), item("o", on="p1")), item("judged"))
    leading = cycle.speakers.leading
    assert leading is not None
    assert isinstance(leading[0], LeastLoaded)
    assert cycle.choose() == cycle.score(np.arange(2)).best() == 1


def test_an_empty_pool_has_no_load() -> None:
    """Nothing to compare: it is left out."""
    assert cycle_of(state_of(), item("judged")).speakers.leading is None
