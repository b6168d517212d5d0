"""The engine: first rejections, totals, the choice, and what becomes of a plugin that breaks its contract."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from berth_server.config.file import PluginConfig
from berth_server.framework.contracts import PluginError
from berth_server.framework.engine import Cycle, Engine
from berth_server.framework.profile import build
from berth_server.plugins import REGISTRY
from tests.builders import candidate, cycle_of, item, joins, reasons_in, state_of, term
from tests.fakes.plugins import FakeFilter, FakeScore, profile_of

NAMES = ("p0", "p1", "p2", "p3")


def cycle_with(*plugins: Any) -> Cycle:
    """Prepare a cycle of these plugins on four candidates."""
    return cycle_of(state_of(*map(candidate, NAMES)), item(), profile_of(*plugins))


def rows(*numbers: int) -> Any:
    """Build an index of rows."""
    return np.array(numbers, np.intp)


# --- filter --------------------------------------------------------------------------------------------------------


def test_the_first_rejection_is_the_reason() -> None:
    """Codes count through all plugins of the profile; a later plugin is asked about what is left alone."""
    first = FakeFilter("First", {"p1": 2})
    second = FakeFilter("Second", {"p1": 1, "p2": 1})
    third = FakeFilter("Third", {"p3": 2})
    cycle = cycle_with(first, second, third)
    assert cycle.filter().tolist() == [0, 2, 3, 6]
    assert (first.asked, second.asked, third.asked) == ([list(NAMES)], [["p0", "p2", "p3"]], [["p0", "p3"]])
    assert cycle.profile.reasons[2] == ("Second", "Closed")


def test_a_plugin_with_nothing_to_say_is_not_asked() -> None:
    """Its reasons keep their numbers all the same."""
    silent, speaking = FakeFilter("Silent", {"p0": 1}, says=False), FakeFilter("Speaking", {"p0": 1})
    assert cycle_with(silent, speaking).filter().tolist() == [3, 0, 0, 0]
    assert silent.asked == []


def test_without_filters_everything_is_feasible() -> None:
    """No plugin rejects: zeros, one a row."""
    assert cycle_with().filter().tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param((), id="none"),
        pytest.param((2,), id="one"),
        pytest.param((3, 1), id="not ascending"),
        pytest.param((0, 1, 2, 3), id="all"),
    ],
)
def test_rows_are_judged_alike_alone_and_together(asked: tuple[int, ...]) -> None:
    """What a row is told does not depend on the others that are asked about."""
    cycle = cycle_with(FakeFilter("First", {"p1": 2}), FakeFilter("Second", {"p1": 1, "p2": 1}))
    assert cycle.filter(rows(*asked)).tolist() == cycle.filter()[list(asked)].tolist()


def test_all_filters_can_be_asked_about_one_row() -> None:
    """For people: every plugin's first reason, not the first plugin's alone."""
    cycle = cycle_with(FakeFilter("First", {"p1": 2}), FakeFilter("Mute", says=False), FakeFilter("Last", {"p1": 1}))
    assert cycle.filter_all(1) == [2, 5]
    assert cycle.filter_all(0) == []


def test_details_come_from_the_plugin_of_the_code() -> None:
    """It is asked with its own numbering."""
    cycle = cycle_with(FakeFilter("First"), FakeFilter("Second"))
    assert cycle.detail(2, 4) == "Second p2 2"
    assert cycle.nearest(rows(0, 3), 1) == (3, "First 1")


def test_a_code_of_a_silent_plugin_is_a_bug() -> None:
    """Nothing can be said about it."""
    with pytest.raises(AssertionError, match="code 1"):
        cycle_with(FakeFilter(says=False)).detail(0, 1)


# --- score ---------------------------------------------------------------------------------------------------------


def test_totals_are_weighted_sums() -> None:
    """Normalised scores times weights; of equal totals the first in name order is best."""
    first, second = FakeScore("First", {"p0": 10, "p1": 100}), FakeScore("Second", {"p0": 100, "p2": 70})
    profile = profile_of(first, second, weights={"Second": 3})
    cycle = cycle_of(state_of(*map(candidate, NAMES)), item(), profile)
    ranked = cycle.score(rows(0, 1, 2, 3))
    assert ranked.total.tolist() == [310, 100, 210, 0]
    assert [scores.tolist() for scores in ranked.normalized] == [[10, 100, 0, 0], [100, 0, 70, 0]]
    assert ranked.best() == 0
    assert ranked.order().tolist() == [0, 2, 1, 3]
    assert cycle.raw(2) == [0, 70]


def test_equal_totals_go_by_name() -> None:
    """The first row is the lexicographically smallest name."""
    cycle = cycle_with(FakeScore(scores={"p3": 50, "p1": 50}))
    ranked = cycle.score(rows(1, 2, 3))
    assert ranked.best() == 1
    assert ranked.order().tolist() == [0, 2, 1]
    assert cycle.choose(np.array([1, 0, 0, 0], np.uint8)) == 1


def test_nothing_feasible_is_no_choice() -> None:
    """No plugin is asked to rank nothing."""
    cycle = cycle_with(FakeFilter(codes=dict.fromkeys(NAMES, 1)), FakeScore(failing="score"))
    assert cycle.score(rows()).best() == -1
    assert cycle.choose() == -1
    assert Engine(cycle.profile).decide(cycle).row == -1


def test_a_silent_score_adds_nothing() -> None:
    """Its column is 0, and so is its raw score."""
    cycle = cycle_with(FakeScore("Mute", {"p0": 100}, says=False), FakeScore("Loud", {"p1": 9}))
    assert cycle.score(rows(0, 1)).total.tolist() == [0, 9]
    assert cycle.raw(1) == [0, 9]


def test_a_zero_still_counts() -> None:
    """Totals are sums, not averages over what is positive: a weak preference never loses to none."""
    cycle = cycle_with(FakeScore("First", {"p0": 50, "p1": 50}), FakeScore("Second", {"p0": 1}))
    assert cycle.choose() == 0


def test_the_largest_weights_stay_exact() -> None:
    """A million times 100, for every plugin, is far from where numbers lose digits."""
    choices = [PluginConfig(name, weight=1_000_000) for name in ("PreferredRunAffinity", "LeastLoaded")]
    state = state_of(candidate("p1"), candidate("p2"), item("web", on="p1", labels={"app": "web"}))
    judged = item(affinity=joins(preferred=[(1, term(app="web"))]))
    ranked = cycle_of(state, judged, build("heavy", choices, REGISTRY)).score(rows(0, 1))
    assert ranked.total.tolist() == [100_000_000, 100_000_000]


# --- contracts that are broken -------------------------------------------------------------------------------------


def _filled(value: Any, dtype: Any = np.int64) -> Callable[[int], Any]:
    return lambda count: np.full(count, value, dtype)


@pytest.mark.parametrize(
    ("normalized", "want"),
    [
        pytest.param(_filled(-1), "a score is outside 0..100", id="negative"),
        pytest.param(_filled(101), "a score is outside 0..100", id="too large"),
        pytest.param(_filled(2**62), "a score is outside 0..100", id="huge"),
        pytest.param(lambda count: np.arange(count) + 98, "a score is outside 0..100", id="one of many"),
        pytest.param(_filled(50, np.float64), "a score must be int64[4], not float64[4]", id="float"),
        pytest.param(_filled(np.nan, np.float64), "a score must be int64[4], not float64[4]", id="NaN"),
        pytest.param(_filled(1, np.bool_), "a score must be int64[4], not bool[4]", id="bool"),
        pytest.param(_filled(1, np.int32), "a score must be int64[4], not int32[4]", id="too narrow"),
        pytest.param(_filled(1, object), "a score must be int64[4], not object[4]", id="objects"),
        pytest.param(lambda count: np.zeros(count + 1, np.int64), "must be int64[4], not int64[5]", id="one too many"),
        pytest.param(lambda count: np.zeros((count, 1), np.int64), "must be int64[4], not int64[4, 1]", id="a matrix"),
        pytest.param(lambda count: [1] * count, "a score must be int64[4], not list", id="a list"),
        pytest.param(lambda count: None, "a score must be int64[4], not NoneType", id="None"),
        pytest.param(lambda count: 1, "a score must be int64[4], not int", id="a number"),
    ],
)
def test_a_score_that_is_none_aborts_the_cycle(normalized: Callable[[int], Any], want: str) -> None:
    """Out of range or of another type: the error names the plugin that is at fault."""
    cycle = cycle_with(FakeScore("Fine"), FakeScore("Odd", normalized=normalized))
    with pytest.raises(PluginError, match=r"^plugin Odd: ") as caught:
        cycle.choose()
    assert want in str(caught.value)
    assert caught.value.plugin == "Odd"


@pytest.mark.parametrize(
    ("broken", "ask"),
    [
        pytest.param(FakeFilter("Odd", failing="prepare"), lambda cycle: cycle.filter(), id="a filter prepares"),
        pytest.param(FakeFilter("Odd", failing="filter"), lambda cycle: cycle.filter(), id="it filters"),
        pytest.param(FakeFilter("Odd", failing="filter"), lambda cycle: cycle.filter_all(0), id="it is asked for more"),
        pytest.param(
            FakeFilter("Odd", failing="filter", ROW_LOCAL=True),
            lambda cycle: Engine(cycle.profile).decide(cycle),
            id="it filters for the class cache",
        ),
        pytest.param(FakeScore("Odd", failing="prepare"), lambda cycle: cycle.choose(), id="a score prepares"),
        pytest.param(FakeScore("Odd", failing="score"), lambda cycle: cycle.choose(), id="it scores"),
        pytest.param(FakeScore("Odd", failing="normalize"), lambda cycle: cycle.choose(), id="it normalises"),
        pytest.param(FakeScore("Odd", failing="raw"), lambda cycle: cycle.raw(0), id="it is shown"),
    ],
)
def test_a_plugin_that_raises_is_named(broken: Any, ask: Callable[[Cycle], object]) -> None:
    """Whatever it raises becomes a PluginError with its name, and keeps its cause."""
    with pytest.raises(PluginError, match=r"^plugin Odd: ZeroDivisionError: ") as caught:
        ask(cycle_with(FakeFilter("Fine", ROW_LOCAL=True), broken))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_one_broken_cycle_leaves_the_others_alone() -> None:
    """The same engine decides the next item as if nothing had been."""
    odd = FakeScore("Odd", {"p2": 5})
    engine = Engine(profile_of(odd))
    state = state_of(*map(candidate, NAMES))
    odd.failing = "score"
    with pytest.raises(PluginError):
        engine.decide(engine.cycle(item("a"), state.view(item("a"))))
    odd.failing = ""
    assert engine.decide(engine.cycle(item("b"), state.view(item("b")))).row == 2


# --- the real chain ------------------------------------------------------------------------------------------------


def test_plugins_are_asked_in_the_order_of_the_registry() -> None:
    """A Pod that is wrong in several ways is rejected for the first of them."""
    state = state_of(candidate("full"), candidate("free"), *(item(f"r{number}", on="full") for number in range(2)))
    judged = item(affinity=joins(term(app="web")), workspace="w")
    assert reasons_in(cycle_of(state, judged)) == {"free": "UnsatisfiedRunAffinity", "full": "InsufficientCapacity"}
