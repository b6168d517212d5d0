"""What a plugin may be: it implements the Protocols that it needs, does no I/O and changes nothing that it is given.

`Prepared` is a plugin's own value for one item, made once per cycle by its `prepare`; None means that the plugin has
nothing to say about this item and is left out of the cycle.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from berth_server.objects.item import Item
from berth_server.queue.events import Cures
from berth_server.state.pool import Int64s
from berth_server.state.view import Rows, View

Prepared = Any
Codes = NDArray[np.uint8]
"""0 where a row is feasible, else 1 + the index of its reason in the plugin's REASONS."""
MAX_NODE_SCORE = 100


class Plugin(Protocol):
    """What every plugin has."""

    NAME: ClassVar[str]
    ARGUMENTS: ClassVar[Mapping[str, Sequence[object]]]
    """The arguments that a profile may set, each with the values that it accepts, the default first."""

    def prepare(self, item: Item, view: View) -> Prepared | None:
        """Compile what of the item and the view concerns this plugin; None: nothing does (PreFilter, Skip)."""
        ...

    def class_key(self, item: Item) -> Hashable:
        """Everything of the item that the verdict depends on: equal keys on one view, equal verdicts."""
        ...


@runtime_checkable
class Filter(Plugin, Protocol):
    """Says which rows can't take the item."""

    REASONS: ClassVar[tuple[str, ...]]
    """In the order in which they are asked. A closed list: it is used as a metric label."""
    CURES: ClassVar[Cures]
    """For every reason, the events after which it may hold no more on some row, or on a row that is new."""
    ROW_LOCAL: ClassVar[bool]
    """The verdict on a row depends on the class key and that row's columns alone, so it can be kept and patched."""

    def filter(self, prepared: Prepared, view: View, rows: Rows | slice) -> Codes:
        """Judge `rows`."""
        ...

    def detail(self, prepared: Prepared, view: View, row: int, code: int) -> str:
        """Say for people, with names and numbers, why `row` has that code; empty when the reason says it all."""
        ...

    def nearest(self, prepared: Prepared, view: View, rows: Rows, code: int) -> tuple[int, str] | None:
        """Return, of `rows` which all have that code, the one that lacks least, and what it lacks."""
        ...


@runtime_checkable
class Score(Plugin, Protocol):
    """Ranks the rows that are feasible."""

    DEFAULT_WEIGHT: ClassVar[int]

    def score(self, prepared: Prepared, view: View, rows: Rows) -> Int64s:
        """Return a key per row of `rows`, comparable among them only."""
        ...

    def normalize(self, keys: Int64s) -> Int64s:
        """Turn keys into scores 0..100, more is better (NormalizeScore)."""
        ...

    def raw(self, prepared: Prepared, view: View, row: int) -> int:
        """Return the score of one row in the plugin's own unit, as people are shown it."""
        ...


@runtime_checkable
class Leading(Score, Protocol):
    """A Score that can name its best row without ranking all, and patch what it knows row by row.

    Its keys depend on the class key and a row's columns alone. The best row is the only one with the highest score, or
    the first in name order of those that share it.
    """

    def measure(
        self, prepared: Prepared, view: View, rows: Rows | slice, feasible: NDArray[np.bool_]
    ) -> Sequence[NDArray[Any]]:
        """Return arrays with one value per row of `rows`, for `leader` to compare; `feasible` is of the same rows."""
        ...

    def leader(self, prepared: Prepared, view: View, measures: Sequence[NDArray[Any]]) -> int:
        """Return the best feasible row, or -1 if there is none; `measures` speak of all rows."""
        ...


class PluginError(Exception):
    """A plugin broke its contract or failed. That cycle is aborted, and the item is tried again."""

    def __init__(self, plugin: str, problem: str) -> None:
        super().__init__(f"plugin {plugin}: {problem}")
        self.plugin = plugin
