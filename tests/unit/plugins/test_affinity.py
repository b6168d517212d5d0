"""Affinity of every kind: required and preferred, the Run's own and that of Runs which are there already."""

from typing import Any

import numpy as np
import pytest

from berth_server.config.file import PluginConfig
from berth_server.framework.engine import Cycle
from berth_server.framework.profile import build
from berth_server.objects.item import Item
from berth_server.plugins import REGISTRY
from tests.builders import Json, avoids, candidate, cycle_of, item, joins, reasons_in, state_of, term

PODS = (
    candidate("p1", capacity={"runs": 9}),
    candidate("p2", capacity={"runs": 9}),
    candidate("q1", runtime="js"),
    candidate("p1", namespace="other"),
)
WEB, DB = {"app": "web"}, {"app": "db"}
AFFINE, ANTI, EXISTING = "UnsatisfiedRunAffinity", "UnsatisfiedRunAntiAffinity", "ExistingRunAntiAffinity"
NULL_SELECTOR: Json = {"labelSelector": None, "topologyKey": "kruntimes.io/runtime-pod"}
EMPTY_SELECTOR: Json = {"labelSelector": {}, "topologyKey": "kruntimes.io/runtime-pod"}


def cycle_with(*others: Item, labels: dict[str, str] | None = None, affinity: Json | None = None) -> Cycle:
    """Prepare a Run among others."""
    return cycle_of(state_of(*PODS, *others), item("judged", labels=labels, affinity=affinity))


def verdict(p1: str, p2: str) -> dict[str, str]:
    """The reasons on both Pods of the pool."""
    return {"p1": p1, "p2": p2}


def web(on: str = "p1", **fields: Any) -> Item:
    """Build a web Run that is running."""
    return item(f"web-{on}", on=on, labels=WEB, **fields)


# --- required affinity ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("others", "want"),
    [
        pytest.param([web()], verdict("", AFFINE), id="a target here"),
        pytest.param([web(), web("p2")], verdict("", ""), id="a target on each"),
        pytest.param([], verdict(AFFINE, AFFINE), id="no target: it may not seed without the label"),
        pytest.param([web("q1")], verdict(AFFINE, AFFINE), id="a target in another pool can't be joined"),
        pytest.param([web("p1", namespace="other")], verdict(AFFINE, AFFINE), id="a target in another namespace"),
        pytest.param([web(phase="Succeeded")], verdict(AFFINE, AFFINE), id="a terminal one attracts nobody"),
        pytest.param([web(on_uid="gone")], verdict(AFFINE, AFFINE), id="a target whose Pod is not in view"),
        pytest.param([web(phase="Odd")], verdict("", AFFINE), id="a target in an unknown phase"),
    ],
)
def test_required_affinity(others: list[Item], want: dict[str, str]) -> None:
    """A Pod with a matching target, assigned and in view, in any pool of the namespace."""
    assert reasons_in(cycle_with(*others, affinity=joins(term(app="web")))) == want


@pytest.mark.parametrize(
    ("others", "want"),
    [
        pytest.param([], verdict("", ""), id="nobody matches: it seeds anywhere"),
        pytest.param([web()], verdict("", AFFINE), id="somebody does: it joins"),
        pytest.param([web("q1")], verdict(AFFINE, AFFINE), id="a target in another pool forbids seeding"),
        pytest.param([web(on_uid="gone")], verdict("", ""), id="one whose Pod is not in view does not"),
        pytest.param([web("p1", namespace="other")], verdict("", ""), id="nor one in another namespace"),
    ],
)
def test_seeding(others: list[Item], want: dict[str, str]) -> None:
    """A Run whose own labels match a term that nobody meets goes anywhere."""
    assert reasons_in(cycle_with(*others, labels=WEB, affinity=joins(term(app="web")))) == want


TWO_TERMS = joins(term(app="x"), term(tier="y"))


@pytest.mark.parametrize(
    ("others", "labels", "want"),
    [
        pytest.param([], {"app": "x", "tier": "y"}, verdict("", ""), id="an empty world: both are seeded"),
        pytest.param(
            [item("o", on="p2", labels={"app": "x"})],
            {"app": "x", "tier": "y"},
            verdict(AFFINE, ""),
            id="one term has a target: it is joined, the other seeded",
        ),
        pytest.param(
            [item("o", on="p2", labels={"app": "x", "tier": "y"}, requests={"runs": 9})],
            {"app": "x", "tier": "y"},
            verdict(AFFINE, "InsufficientCapacity"),
            id="the target's Pod is full: not seeded elsewhere",
        ),
        pytest.param([], {"app": "x"}, verdict(AFFINE, AFFINE), id="it lacks one label: it may not seed that term"),
        pytest.param(
            [item("o", on="p1", labels={"app": "x"}), item("q", on="p2", labels={"tier": "y"})],
            {},
            verdict(AFFINE, AFFINE),
            id="terms are ANDed per Pod",
        ),
    ],
)
def test_several_terms_are_judged_one_by_one(others: list[Item], labels: dict[str, str], want: dict[str, str]) -> None:
    """Seeding is decided term by term."""
    assert reasons_in(cycle_with(*others, labels=labels, affinity=TWO_TERMS)) == want


@pytest.mark.parametrize(
    ("affinity", "want"),
    [
        pytest.param(joins(EMPTY_SELECTOR), verdict("", AFFINE), id="empty matches every target"),
        pytest.param(joins(NULL_SELECTOR), verdict(AFFINE, AFFINE), id="null matches none, and is never seeded"),
        pytest.param(avoids(EMPTY_SELECTOR), verdict(ANTI, ""), id="empty avoids every target"),
        pytest.param(avoids(NULL_SELECTOR), verdict("", ""), id="null avoids none"),
    ],
)
def test_empty_and_null_selectors(affinity: Json, want: dict[str, str]) -> None:
    """Both are valid, as in Kubernetes."""
    assert reasons_in(cycle_with(web(), labels=WEB, affinity=affinity)) == want


def test_a_reserved_run_is_a_target() -> None:
    """Two seeds planned at once: the second joins the first, though nothing is assigned yet."""
    first, second = (item(name, labels=WEB, affinity=joins(term(app="web"))) for name in ("a", "b"))
    state = state_of(*PODS, first, second)
    state.hold(first, "ns/p2")
    assert reasons_in(cycle_of(state, second)) == verdict(AFFINE, "")
    assert reasons_in(cycle_of(state, first)) == verdict("", ""), "it is no target of itself"


# --- required anti-affinity, both ways -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("others", "want"),
    [
        pytest.param([web()], verdict(ANTI, ""), id="a target here"),
        pytest.param([web("q1")], verdict("", ""), id="in another pool it is in nobody's way"),
        pytest.param([web(phase="Failed")], verdict("", ""), id="a terminal one"),
        pytest.param([item("o", on="p1", labels=DB)], verdict("", ""), id="another label"),
    ],
)
def test_required_anti_affinity(others: list[Item], want: dict[str, str]) -> None:
    """A Pod without a matching target."""
    assert reasons_in(cycle_with(*others, affinity=avoids(term(app="web")))) == want


def test_affinity_comes_before_anti_affinity() -> None:
    """A Pod that both reject is counted under the first."""
    affinity = joins(term(app="web")) | avoids(term(app="db"))
    cycle = cycle_with(web(), item("db", on="p2", labels=DB), affinity=affinity)
    assert reasons_in(cycle) == verdict("", AFFINE)
    cycle = cycle_with(web(), item("db", on="p1", labels=DB), affinity=affinity)
    assert reasons_in(cycle) == verdict(ANTI, AFFINE)


def old(on: str = "p1", **fields: Any) -> Item:
    """Build a Run that repels web and x alone."""
    return item("old", on=on, labels=DB, affinity=avoids(term(app="web"), term(app="x")), **fields)


@pytest.mark.parametrize(
    ("there", "labels", "want"),
    [
        pytest.param(old(), WEB, verdict(EXISTING, ""), id="repelled by one of two terms"),
        pytest.param(old(), DB, verdict("", ""), id="of other labels"),
        pytest.param(old(), None, verdict("", ""), id="without labels"),
        pytest.param(old(phase="Succeeded"), WEB, verdict("", ""), id="a terminal one repels nobody"),
        pytest.param(old(namespace="other"), WEB, verdict("", ""), id="one in another namespace"),
        pytest.param(old("q1"), WEB, verdict("", ""), id="one in another pool"),
        pytest.param(
            item("old", on="p1", affinity=avoids(preferred=[(9, term(app="web"))])),
            WEB,
            verdict("", ""),
            id="preferred",
        ),
        pytest.param(
            item("old", on="p1", affinity=avoids({**term(app="web"), "topologyKey": "zone"}, term(app="web"))),
            WEB,
            verdict(EXISTING, ""),
            id="a term that does not compile repels nobody, its neighbour does",
        ),
    ],
)
def test_existing_anti_affinity(there: Item, labels: dict[str, str] | None, want: dict[str, str]) -> None:
    """A required term of a Run that is on this very Pod selects this Run's labels."""
    assert reasons_in(cycle_with(there, labels=labels)) == want


def test_a_reserved_run_repels() -> None:
    """Anti-affinity holds both ways as soon as room is taken."""
    first, second = item("a", affinity=avoids(term(app="web"))), item("b", labels=WEB)
    state = state_of(*PODS, first, second)
    state.hold(first, "ns/p1")
    assert reasons_in(cycle_of(state, second)) == verdict(EXISTING, "")


def test_a_run_does_not_repel_itself() -> None:
    """Reserved, or running, and judged again: its own terms are not in its way."""
    own = item("a", on="p1", labels=WEB, affinity=avoids(term(app="web")))
    assert reasons_in(cycle_of(state_of(*PODS, own), own)) == verdict("", "")


def test_it_can_be_switched_off() -> None:
    """The scheduler that kruntimes comes with does not have this rule."""
    profile = build("old", [PluginConfig("ExistingRunAntiAffinity", enabled=False)], REGISTRY)
    judged = item("judged", labels=WEB)
    assert reasons_in(cycle_of(state_of(*PODS, old()), judged, profile)) == verdict("", "")


# --- details -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("others", "affinity", "want"),
    [
        pytest.param([web("p2")], joins(term(app="web")), "its target is elsewhere", id="elsewhere in the pool"),
        pytest.param(
            [web("q1")],
            joins(term(app="web")),
            "no target is in this pool, and the Run can't seed it",
            id="nowhere in the pool",
        ),
        pytest.param([web()], avoids(term(app="web")), "a Run that it must not share with is here", id="anti"),
        pytest.param([old()], None, "a Run here has anti-affinity to this one's labels", id="existing"),
    ],
)
def test_details(others: list[Item], affinity: Json | None, want: str) -> None:
    """Says whose rule it is and where the target is; no Pod is nearer than another."""
    cycle = cycle_with(*others, labels=WEB, affinity=affinity)
    code = int(cycle.filter()[0])
    assert cycle.detail(0, code) == want
    assert cycle.nearest(np.array([0]), code) is None


@pytest.mark.parametrize("plugin", ["RunAffinity", "ExistingRunAntiAffinity", "PreferredRunAffinity"])
def test_silent_without_anything_to_say(plugin: str) -> None:
    """A Run without terms, among Runs without terms, keeps every affinity plugin out of its cycle."""
    assert plugin in {silent.NAME for silent in cycle_with(web(), labels=WEB).speakers.silent}


# --- preferred affinity --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preferred", "others", "want_raw", "want_scores"),
    [
        pytest.param(joins(preferred=[(40, term(app="web"))]), [web()], [40, 0], [100, 0], id="one target"),
        pytest.param(joins(preferred=[(40, term(app="web"))]), [], [0, 0], [0, 0], id="no term holds: all 0"),
        pytest.param(avoids(preferred=[(7, term(app="web"))]), [web()], [0, 7], [0, 100], id="anti: where none is"),
        pytest.param(avoids(preferred=[(7, term(app="web"))]), [], [7, 7], [100, 100], id="anti holds everywhere"),
        pytest.param(
            joins(preferred=[(3, term(app="web")), (2, term(app="db"))]),
            [web(), item("db", on="p2", labels=DB)],
            [3, 2],
            [100, 66],
            id="shares are rounded down",
        ),
        pytest.param(
            joins(preferred=[(3, term(app="web"))]) | avoids(preferred=[(2, term(app="db"))]),
            [web(), item("db", on="p1", labels=DB)],
            [3, 2],
            [100, 66],
            id="both kinds are summed",
        ),
        pytest.param(
            joins(preferred=[(3, term(app="web")), (3, term(app="web"))]),
            [web()],
            [6, 0],
            [100, 0],
            id="a term that is written twice counts twice",
        ),
        pytest.param(
            joins(preferred=[(9, term(app="web"))]), [web(), web("p1", uid="2")], [9, 0], [100, 0], id="twins are one"
        ),
    ],
)
def test_preferred(preferred: Json, others: list[Item], want_raw: list[int], want_scores: list[int]) -> None:
    """The sum of the weights of the terms that hold, as a share of the best sum."""
    cycle = cycle_with(*others, affinity=preferred)
    ranked = cycle.score(np.array([0, 1]))
    assert [cycle.raw(row)[0] for row in (0, 1)] == want_raw
    assert ranked.normalized[0].tolist() == want_scores


def test_the_best_sum_is_that_of_feasible_rows() -> None:
    """A Pod that is full does not lower the others' scores."""
    cycle = cycle_of(
        state_of(*PODS, item("a", on="p1", labels=WEB | {"tier": "x"}, requests={"runs": 9}), web("p2")),
        item("judged", affinity=joins(preferred=[(50, term(app="web")), (50, term(tier="x"))])),
    )
    feasible = np.flatnonzero(cycle.filter() == 0)
    assert (feasible.tolist(), cycle.score(feasible).normalized[0].tolist()) == ([1], [100])
    assert cycle.score(np.array([0, 1])).normalized[0].tolist() == [100, 50]
