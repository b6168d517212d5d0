"""The class cache: what is kept, for whom, and what is never taken for something else."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest

from berth_server.framework import classes
from berth_server.framework.contracts import Codes, PluginError
from berth_server.framework.engine import Engine
from berth_server.objects.item import Item
from berth_server.plugins.least_loaded import LeastLoaded
from berth_server.state.view import Rows, View
from tests.builders import DEFAULT_PROFILE, candidate, item, joins, see, state_of, term
from tests.fakes.plugins import FakeFilter, profile_of


class Picky(FakeFilter):
    """Rejects the candidate that the item's label `avoids` names: row by row, but not by what is requested."""

    def prepare(self, item: Item, view: View) -> object | None:
        """See Plugin."""
        return item.labels["avoids"]

    def class_key(self, item: Item) -> Hashable:
        """See Plugin."""
        return item.labels["avoids"]

    def filter(self, prepared: object, view: View, rows: Rows | slice) -> Codes:
        """See Filter."""
        super().filter(prepared, view, rows)
        return np.array([name == prepared for name in np.array(view.columns.names)[rows]], np.uint8)


class Desk:
    """Two candidates, and an engine that decides."""

    def __init__(self, *plugins: Any) -> None:
        self.state = state_of(candidate("p1"), candidate("p2"))
        self.engine = Engine(profile_of(*plugins) if plugins else DEFAULT_PROFILE)

    def row(self, judged: Item) -> int:
        """Decide."""
        return self.engine.decide(self.engine.cycle(judged, self.state.view(judged))).row


def test_items_of_equal_requests_may_be_of_different_classes() -> None:
    """What a plugin says it looks at tells them apart."""
    desk = Desk(Picky(ROW_LOCAL=True), LeastLoaded())
    for _ in range(2):
        assert desk.row(item("a", labels={"avoids": "p1"})) == 1
        assert desk.row(item("b", labels={"avoids": "p2"})) == 0


def test_only_rows_that_changed_are_asked_about_again() -> None:
    """The second of a class is decided by what was kept, the third by that and one row."""
    gate = FakeFilter(ROW_LOCAL=True)
    desk = Desk(gate, LeastLoaded())
    assert desk.row(item("a")) == desk.row(item("b")) == 0
    see(desk.state, item("other", on="p1"))
    assert desk.row(item("c")) == 1
    assert gate.asked == [["p1", "p2"], ["p1"]]


def test_a_row_that_could_not_be_asked_about_is_asked_about_later() -> None:
    """A plugin that fails on a changed row leaves what is known as it was, and that row to be looked at."""
    gate = FakeFilter(ROW_LOCAL=True)
    desk = Desk(gate, LeastLoaded())
    desk.row(item("a"))
    see(desk.state, item("other", on="p1"))
    gate.failing = "filter"
    with pytest.raises(PluginError):
        desk.row(item("b"))
    gate.failing = ""
    assert desk.row(item("b")) == 1


@pytest.mark.parametrize(
    "judged",
    [
        pytest.param(item("a", affinity=joins(term(app="web"))), id="a verdict that depends on other rows"),
        pytest.param(item("a", affinity=joins(preferred=[(1, term(app="web"))])), id="another score has a say"),
        pytest.param(item("a", on="p1"), id="the item is in this pool: its use is left out"),
    ],
)
def test_what_is_not_kept(judged: Item) -> None:
    """Such items are computed each time, and leave nothing behind."""
    desk = Desk()
    see(desk.state, judged)
    desk.row(judged)
    assert len(desk.engine.classes) == 0


def test_the_number_of_classes_is_bounded() -> None:
    """Users choose requests; the least recently used class goes first."""
    desk = Desk()
    for number in range(classes.MAX_CLASSES + 50):
        desk.row(item("often"))
        desk.row(item("once", requests={"runs": number + 2}))
    assert len(desk.engine.classes) == classes.MAX_CLASSES
    kept: list[Any] = list(desk.engine.classes._classes)
    assert (("runs", 1),) in [requests for _, requests in kept]
