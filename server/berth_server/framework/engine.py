"""One cycle for one item: PreFilter, Filter, Score, choose. Pure: the same item on the same view, the same answer.

Two ways lead to a choice. The full one asks every plugin about every row; the short one (`choose`) names the best row
without ranking the rest, where one plugin alone decides. They agree, and a property test holds both to it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from berth_server.framework.classes import ClassCache
from berth_server.framework.contracts import MAX_NODE_SCORE, Codes, Filter, PluginError, Prepared
from berth_server.framework.profile import Profile
from berth_server.framework.speakers import Speakers, guarded, prepare
from berth_server.objects.item import Item
from berth_server.state.pool import Int64s
from berth_server.state.view import Rows, View

ALL: Final = slice(None)


@dataclass(frozen=True, slots=True)
class Ranked:
    """Scores of the feasible rows: `normalized[plugin]` and `total` stand in the order of `rows` (ascending)."""

    rows: Rows
    normalized: Sequence[Int64s]
    total: Int64s

    def best(self) -> int:
        """Return the row with the highest total; of several the first in name order. -1: none is feasible."""
        return int(self.rows[np.argmax(self.total)]) if len(self.rows) else -1

    def order(self) -> Rows:
        """Return positions in `rows`, best first, equal totals in name order."""
        return np.argsort(-self.total, kind="stable")


@dataclass(frozen=True, slots=True)
class Decision:
    """The row that an item goes to (-1: none), and how many rows have each code; live until the next decision."""

    row: int
    counts: Sequence[int]


class Cycle:
    """One item on one view. Lives as long as the view: until the next await. Plugins prepare when first asked."""

    __slots__ = ("_prepared", "item", "profile", "view")

    def __init__(self, profile: Profile, item: Item, view: View) -> None:
        self.profile = profile
        self.item = item
        self.view = view
        self._prepared: Speakers | None = None

    @property
    def speakers(self) -> Speakers:
        """The plugins that have something to say about the item, with what they prepared."""
        if self._prepared is None:
            self._prepared = prepare(self.profile, self.item, self.view)
        return self._prepared

    @speakers.setter
    def speakers(self, prepared: Speakers) -> None:
        self._prepared = prepared

    def filter(self, rows: Rows | slice = ALL) -> Codes:
        """Return for each row 0 if it is feasible, else 1 + the index in `profile.reasons` of its first rejection."""
        count = len(self.view.columns) if isinstance(rows, slice) else len(rows)
        codes = np.zeros(count, np.uint8)
        left: Rows | slice = rows
        for plugin, offset, prepared in self.speakers.filters:
            verdict = guarded(plugin.NAME, plugin.filter, prepared, self.view, left)
            if left is rows:
                codes = np.where(verdict, verdict + np.uint8(offset), np.uint8(0))
            else:
                survivors = np.flatnonzero(codes == 0)
                codes[survivors] = np.where(verdict, verdict + np.uint8(offset), np.uint8(0))
            if codes.any():
                feasible = np.flatnonzero(codes == 0)
                left = feasible if isinstance(rows, slice) else rows[feasible]
        return codes

    def judge(self, row: int) -> int:
        """Return what `filter` says of one row."""
        return next(self._rejections(row), 0)

    def filter_all(self, row: int) -> list[int]:
        """Ask every filter about one row: the codes, as in `filter`, of all that reject it."""
        return list(self._rejections(row))

    def detail(self, row: int, code: int) -> str:
        """Say for people why `row` has that code."""
        plugin, local, prepared = self._of_code(code)
        return plugin.detail(prepared, self.view, row, local)

    def nearest(self, rows: Rows, code: int) -> tuple[int, str] | None:
        """Return, of rows that all have that code, the one that lacks least, and what it lacks."""
        plugin, local, prepared = self._of_code(code)
        return plugin.nearest(prepared, self.view, rows, local)

    def score(self, rows: Rows) -> Ranked:
        """Rank `rows`, all of them feasible. Raises PluginError when a score is out of range."""
        total = np.zeros(len(rows), np.int64)
        normalized = []
        for plugin, weight, prepared in self.speakers.scores:
            values = np.zeros(len(rows), np.int64)
            if prepared is not None and len(rows):
                keys = guarded(plugin.NAME, plugin.score, prepared, self.view, rows)
                values = _checked(plugin.NAME, guarded(plugin.NAME, plugin.normalize, keys), len(rows))
            normalized.append(values)
            total = total + values * weight
        return Ranked(rows, normalized, total)

    def raw(self, row: int) -> list[int]:
        """Return each scoring plugin's raw score of one row, 0 where it has nothing to say."""
        return [
            0 if prepared is None else int(guarded(plugin.NAME, plugin.raw, prepared, self.view, row))
            for plugin, _, prepared in self.speakers.scores
        ]

    def choose(self, codes: Codes | None = None) -> int:
        """Return the row that the item goes to, or -1. `codes`: what `filter` said, if it was asked already."""
        codes = self.filter() if codes is None else codes
        leading = self.speakers.leading
        if leading is None:
            return self.score(np.flatnonzero(codes == 0)).best()
        plugin, prepared = leading
        measures = guarded(plugin.NAME, plugin.measure, prepared, self.view, ALL, codes == 0)
        return int(guarded(plugin.NAME, plugin.leader, prepared, self.view, measures))

    def _rejections(self, row: int) -> Iterator[int]:
        """Ask one filter after another about one row."""
        only = slice(row, row + 1)
        for plugin, offset, prepared in self.speakers.filters:
            verdict = int(guarded(plugin.NAME, plugin.filter, prepared, self.view, only)[0])
            if verdict:
                yield verdict + offset

    def _of_code(self, code: int) -> tuple[Filter, int, Prepared]:
        for plugin, offset, prepared in self.speakers.filters:
            if offset < code <= offset + len(plugin.REASONS):
                return plugin, code - offset, prepared
        raise AssertionError(f"code {code} is of no filter that spoke")


class Engine:
    """Runs the cycles of one profile and keeps what can be kept between them. Reads change nothing but that."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.classes = ClassCache()

    def cycle(self, item: Item, view: View) -> Cycle:
        """Prepare `item` for `view`."""
        return Cycle(self.profile, item, view)

    def decide(self, cycle: Cycle) -> Decision:
        """Choose, looking only at what changed since an item of the same class was seen, where that is possible."""
        found = self.classes.decide(cycle) if cycle.view.shared else None
        if found is not None:
            return Decision(*found)
        codes = cycle.filter()
        return Decision(cycle.choose(codes), np.bincount(codes, minlength=1).tolist())


def _checked(plugin: str, values: Any, count: int) -> Int64s:
    if not isinstance(values, np.ndarray) or values.dtype != np.int64 or values.shape != (count,):
        found = f"{values.dtype}{list(values.shape)}" if isinstance(values, np.ndarray) else type(values).__name__
        raise PluginError(plugin, f"a score must be int64[{count}], not {found}")
    if values.min() < 0 or values.max() > MAX_NODE_SCORE:
        raise PluginError(plugin, f"a score is outside 0..{MAX_NODE_SCORE}")
    return values
