"""Loads compare as rational numbers do: on near-ties, on huge values, without a common denominator, beyond measure."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from berth_server.objects.quantity import MAX_UNITS
from berth_server.plugins.least_loaded import LeastLoaded
from berth_server.plugins.load_order import LoadOrder
from berth_server.state.view import View
from tests.builders import candidate, item, state_of

Row = dict[str, tuple[int, int]]
"""(capacity, used) by resource."""
RESOURCES = ("gpu", "mem", "runs")
PRIMES = (2, 3, 5, 7, 1_000_003, 999_999_937, 2_147_483_647, 67_280_421_310_721, 2**61 - 1)


@dataclass(frozen=True, slots=True)
class Case:
    """Rows of a pool, and what a Run asks for."""

    rows: list[Row]
    requests: dict[str, int]

    def view(self) -> View:
        """Show the rows to a state."""
        state = state_of()
        for number, row in enumerate(self.rows):
            name = f"p{number:03}"
            use = tuple(sorted((resource, used) for resource, (_, used) in row.items() if used))
            state.occupancy.ledger.charge(f"ns/{name}", "x", use)
            pod = candidate(name, capacity={resource: capacity for resource, (capacity, _) in row.items()})
            state.put_candidate(pod, monotonic=0.0, wall=0)
        return state.view(item("judged"))

    def load(self, row: Row) -> tuple[Fraction, Fraction]:
        """Compute the load of a row as the rule says it."""
        row = {"runs": (2, 0)} | row
        ratios = [
            Fraction(min(used, MAX_UNITS) + min(self.requests.get(resource, 0), MAX_UNITS), min(capacity, MAX_UNITS))
            for resource, (capacity, used) in row.items()
            if capacity > 0
        ]
        return max(ratios, default=Fraction(0)), sum(ratios, Fraction(0))

    def fits(self, row: Row) -> bool:
        """Whether the row has what is asked for."""
        row = {"runs": (2, 0)} | row
        return all(
            resource in row and amount <= min(row[resource][0], MAX_UNITS) - min(row[resource][1], MAX_UNITS)
            for resource, amount in self.requests.items()
        )


def asked(case: Case) -> tuple[tuple[str, int], ...]:
    """Give the request vector."""
    return tuple(sorted(case.requests.items()))


# --- strategies: where arithmetic goes wrong -----------------------------------------------------------------------

small = st.integers(0, 12)
powers = st.integers(0, 62).map(lambda bits: 2**bits)
huge = st.one_of(st.integers(2**49, 2**51), st.integers(2**61, 2**63 - 1), powers)
capacities = st.one_of(small, small, st.sampled_from(PRIMES), huge, st.integers(1, 10**12))


@st.composite
def cells(draw: st.DrawFn) -> tuple[int, int]:
    """Draw (capacity, used): empty, partly used, full, or overcommitted beyond measure."""
    capacity = draw(capacities)
    used = draw(st.one_of(st.just(0), st.integers(0, max(capacity, 1)), st.just(capacity), small, huge))
    return capacity, used


@st.composite
def near_ties(draw: st.DrawFn) -> list[Row]:
    """Draw rows whose ratios differ in the last digit, or not at all, on denominators that have little in common."""
    numerator = draw(st.integers(0, 2**20))
    denominator = draw(st.integers(numerator + 1, 2**21))
    rows = []
    for _ in range(draw(st.integers(2, 7))):
        # Beyond 2^53 floats can't hold the numbers themselves.
        factor = draw(st.one_of(st.sampled_from((1, 2, 3, 10**6, 2**30, *PRIMES[4:7])), st.integers(2**33, 2**40)))
        used = max(numerator * factor + draw(st.sampled_from((0, 0, 0, -1, 1))), 0)
        rows.append({"mem": (denominator * factor, used), "runs": (10, draw(st.integers(0, 1)))})
    return rows


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a pool and a request vector."""
    row = st.fixed_dictionaries({}, optional={resource: cells() for resource in RESOURCES})
    drawn = draw(st.lists(row, min_size=1, max_size=8))
    if draw(st.booleans()):
        drawn = draw(near_ties())
    # Equal rows are the normal case: a pool of Pods of one Deployment.
    rows = [drawn[index] for index in draw(st.lists(st.integers(0, len(drawn) - 1), min_size=1, max_size=12))]
    requests = draw(
        st.dictionaries(st.sampled_from((*RESOURCES, "ghost")), st.one_of(st.integers(1, 3), huge), max_size=2)
    )
    return Case(rows, requests)


OVERTAKEN = Case([{"mem": (1, 0), "runs": (2, 1)}, {"mem": (2**40, 2**22)}], {})
"""The second row's units are many, its ratio is tiny."""
OVERCOMMITTED = Case([{"mem": (1, 2**62)}, {"mem": (2, 2**62)}, {"mem": (3, 2**62), "runs": (2, 1)}], {})
INEXACT = Case([{"mem": (3 * (2**59 + 1), 2**59 + 1)}, {"mem": (3 * (2**59 + 43), 2**59 + 43)}, {"mem": (9, 3)}], {})
"""Thirds, all of them; in floats they are not."""
EVEN = Case([{"mem": (6, 2)}, {"mem": (3, 1)}, {"mem": (2**61 - 1, 0)}, {"mem": (9, 3)}], {})


@settings(max_examples=250, deadline=None)
@given(cases())
@example(OVERTAKEN)
@example(OVERCOMMITTED)
@example(EVEN)
@example(INEXACT)
def test_ranks_are_those_of_rational_numbers(case: Case) -> None:
    """Dense ranks of the feasible rows: equal exactly where the loads are equal, in their order."""
    rows = np.array([number for number, row in enumerate(case.rows) if case.fits(row)], np.intp)
    loads = [case.load(case.rows[row]) for row in rows.tolist()]
    distinct = sorted(set(loads))
    ranks = LoadOrder(case.view(), asked(case)).ranks(rows)
    assert ranks.tolist() == [distinct.index(load) for load in loads]


@settings(max_examples=250, deadline=None)
@given(cases())
@example(OVERTAKEN)
@example(OVERCOMMITTED)
@example(EVEN)
@example(INEXACT)
def test_the_first_is_the_least_loaded_in_name_order(case: Case) -> None:
    """The short way names the row that comes first among those with the smallest load, or none."""
    feasible = np.array([case.fits(row) for row in case.rows], np.bool_)
    order = LoadOrder(case.view(), asked(case))
    want = min(np.flatnonzero(feasible).tolist(), key=lambda row: (case.load(case.rows[row]), row), default=-1)
    measures = order.masked(slice(None), feasible)
    assert order.first(measures) == want
    for row in range(len(case.rows)):
        part = order.masked(np.array([row]), feasible[[row]])
        assert [one[0] for one in part] == [whole[row] for whole in measures], "patched is not computed"


@settings(max_examples=100, deadline=None)
@given(cases())
def test_what_people_are_shown_is_exact(case: Case) -> None:
    """The raw score is the largest ratio in millionths, rounded down."""
    view = case.view()
    order = LoadOrder(view, asked(case))
    for number, row in enumerate(case.rows):
        load = case.load(row)
        assert order.exact(number) == load
        assert LeastLoaded().raw(order, view, number) == min(load[0] * 10**6 // 1, 2**63 - 1)
