"""Targets: which Runs attract and repel where, by label, with and without oneself."""

from collections.abc import Mapping
from random import Random

import pytest

from berth_server.objects.selectors import EVERYTHING, NOTHING, Selector
from berth_server.state.targets import Target, Targets
from tests.builders import selector

WEB = selector(app="web")
DB = selector(app="db")


def target(*repels: Selector, **labels: str) -> Target:
    """Build a target."""
    return Target(frozenset(labels.items()), repels)


def expression(key: str, operator: str, *values: str) -> Selector:
    """Compile one expression."""
    return selector({"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]})


def targets_of(**places: Target) -> Targets:
    """Build the targets of a namespace: one on each candidate."""
    targets = Targets()
    for candidate, one in places.items():
        targets.add(one, candidate)
    return targets


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param(WEB, {"p", "q"}, id="one label"),
        pytest.param(selector(app="web", tier="front"), {"p"}, id="labels are ANDed"),
        pytest.param(selector(app="web", tier="none"), set(), id="one of two labels is nowhere"),
        pytest.param(EVERYTHING, {"p", "q", "r", "s"}, id="empty selects everything"),
        pytest.param(NOTHING, set(), id="null selects nothing"),
        pytest.param(expression("app", "In", "web", "db"), {"p", "q", "r"}, id="In, of several values"),
        pytest.param(expression("app", "NotIn", "web"), {"r", "s"}, id="NotIn holds on a missing key"),
        pytest.param(expression("app", "Exists"), {"p", "q", "r"}, id="Exists"),
        pytest.param(expression("tier", "DoesNotExist"), {"q", "r", "s"}, id="DoesNotExist"),
    ],
)
def test_finds_the_candidates_of_a_selector(asked: Selector, want: set[str]) -> None:
    """A query finds every candidate with a matching Run, whether or not an index leads to it."""
    targets = targets_of(p=target(app="web", tier="front"), q=target(app="web"), r=target(app="db"), s=target())
    assert targets.matching(asked, {}) == want


@pytest.mark.parametrize(
    ("others", "want"),
    [
        pytest.param(0, set(), id="alone: it is no target of itself"),
        pytest.param(1, {"p"}, id="a twin is one"),
        pytest.param(2, {"p"}, id="two twins are one place"),
    ],
)
def test_a_run_is_never_its_own_target(others: int, want: set[str]) -> None:
    """Leaving a Run out takes one off the count of its label set, there and nowhere else."""
    own = target(WEB, app="web")
    targets = Targets()
    for _ in range(others + 1):
        targets.add(own, "p")
    assert targets.matching(WEB, {"p": own}) == want
    assert targets.repelling({"app": "web"}, {"p": own}) == want
    assert targets.matching(WEB, {"q": own}) == {"p"}


def test_leaving_out_looks_at_the_labels_it_was_added_with() -> None:
    """A Run of other labels on the same candidate still counts."""
    own, other = target(app="web", id="own"), target(app="web", id="other")
    targets = targets_of(p=own)
    targets.add(other, "p")
    assert targets.matching(WEB, {"p": own}) == {"p"}
    assert targets.matching(selector(id="own"), {"p": own}) == set()


def test_each_anti_affinity_term_repels_alone() -> None:
    """One matching term is enough; a Run of other labels is not repelled."""
    targets = targets_of(p=target(WEB, DB, role="old"), q=target(role="old"))
    assert targets.repels
    assert targets.repelling({"app": "web"}, {}) == {"p"}
    assert targets.repelling({"app": "db"}, {}) == {"p"}
    assert targets.repelling({"app": "x"}, {}) == set()


def test_a_term_that_is_written_twice_is_left_out_twice() -> None:
    """A Run with one term twice does not repel itself."""
    own = target(WEB, WEB, app="web")
    targets = targets_of(p=own)
    assert targets.repelling({"app": "web"}, {"p": own}) == set()
    targets.add(target(WEB), "p")
    assert targets.repelling({"app": "web"}, {"p": own}) == {"p"}


def test_nothing_stays_behind() -> None:
    """When the last Run has gone, no label set, pair or term is kept."""
    targets = Targets()
    gone = [target(WEB, app="web"), target(DB, app="web"), target(app="db", tier="x")]
    for one in gone:
        targets.add(one, "p")
        targets.add(one, "q")
    before = targets.generation
    for one in gone:
        targets.remove(one, "p")
        targets.remove(one, "q")
    assert not targets
    assert not targets.repels
    assert (targets._by_labels, targets._by_pair, targets._repelling) == ({}, {}, {})
    assert targets.generation > before


def test_random_churn_agrees_with_a_scan(seed: int) -> None:
    """Queries by index give what a scan of all Runs gives, oneself left out."""
    rng = Random(seed)
    targets = Targets()
    runs: list[tuple[Target, str]] = []
    queries = [WEB, DB, EVERYTHING, NOTHING, selector(app="web", tier="a"), expression("app", "In", "web", "db")]
    queries += [expression("tier", "NotIn", "a"), expression("tier", "DoesNotExist")]
    for _ in range(1500):
        if runs and rng.random() < 0.45:
            targets.remove(*runs.pop(rng.randrange(len(runs))))
        else:
            labels = {key: rng.choice(values) for key, values in _LABELS.items() if rng.random() < 0.6}
            repels = tuple(rng.sample(queries, rng.randrange(3)))
            runs.append((target(*repels, **labels), rng.choice("pqr")))
            targets.add(*runs[-1])
        own = rng.choice(runs) if runs and rng.random() < 0.5 else None
        others = list(runs)
        if own is not None:
            others.remove(own)
        besides = {} if own is None else {own[1]: own[0]}
        asked, labels = rng.choice(queries), {"app": rng.choice(("web", "db"))}
        assert targets.matching(asked, besides) == {where for one, where in others if asked.matches(dict(one.labels))}
        assert targets.repelling(labels, besides) == {where for one, where in others if _repels(one, labels)}


_LABELS = {"app": ("web", "db"), "tier": ("a", "b")}


def _repels(one: Target, labels: Mapping[str, str]) -> bool:
    return any(term.matches(labels) for term in one.repels)
