"""What was computed for items that look alike, brought up to date by the rows that changed since.

A pool is large and a decision changes one row of it: the next item of the same class needs that row recomputed and a
minimum taken, nothing more. Full and patched results come from the same expressions. Bounded; holds no state that a
view does not give again.
"""

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from berth_server.framework.contracts import Codes, Filter, Leading, Prepared
from berth_server.state.pool import Columns
from berth_server.state.view import Rows, View

MAX_CLASSES = 256
MAX_CODES = 256
SpeakingFilter = tuple[Filter, int, Prepared]
"""A filter that has something to say about an item, the offset of its codes, and what it prepared."""


@dataclass(slots=True)
class _Class:
    """Verdicts of one class on one layout of one pool, as of a position in the pool's log."""

    columns: Columns
    capacity_generation: int
    position: int
    codes: Codes
    feasible: NDArray[np.bool_]
    counts: list[int]
    measures: list[NDArray[Any]]


class ClassCache:
    """(pool, class key) -> verdicts. The least recently used goes first."""

    __slots__ = ("_classes",)

    def __init__(self) -> None:
        self._classes: OrderedDict[Hashable, _Class] = OrderedDict()

    def decide(
        self, key: Hashable, view: View, filters: Sequence[SpeakingFilter], leading: tuple[Leading, Prepared]
    ) -> tuple[int, Sequence[int]]:
        """Return the best row for an item of that class, or -1, and how many rows have each code.

        The view must be shared (nothing left out of it), the filters row-local.
        """
        full_key = (view.pool.key, key)
        known = self._classes.get(full_key)
        changed = None
        if known is not None and known.columns is view.columns:
            changed = view.pool.changed_since(known.position)
        plugin, prepared = leading
        if known is None or changed is None or known.capacity_generation != view.pool.capacity_generation:
            known = self._classes[full_key] = _compute(view, filters, leading)
            if len(self._classes) > MAX_CLASSES:
                self._classes.popitem(last=False)
        elif changed:
            _patch(known, changed, view, filters, leading)
        self._classes.move_to_end(full_key)
        return plugin.leader(prepared, view, known.measures, known.feasible), known.counts

    def __len__(self) -> int:
        return len(self._classes)


def chain(view: View, filters: Sequence[SpeakingFilter], rows: Rows | slice, count: int) -> Codes:
    """Return for each of `count` rows 0, or the code of its first rejection, asking every filter about every row."""
    codes = np.zeros(count, np.uint8)
    for plugin, offset, prepared in filters:
        verdict = plugin.filter(prepared, view, rows)
        codes = np.where(codes, codes, np.where(verdict, verdict + np.uint8(offset), np.uint8(0)))
    return codes


def _compute(view: View, filters: Sequence[SpeakingFilter], leading: tuple[Leading, Prepared]) -> _Class:
    everything = slice(None)
    plugin, prepared = leading
    codes = chain(view, filters, everything, len(view.columns))
    return _Class(
        view.columns,
        view.pool.capacity_generation,
        view.pool.position(),
        codes,
        codes == 0,
        np.bincount(codes, minlength=MAX_CODES).tolist(),
        list(plugin.measure(prepared, view, everything)),
    )


def _patch(
    known: _Class,
    changed: list[int],
    view: View,
    filters: Sequence[SpeakingFilter],
    leading: tuple[Leading, Prepared],
) -> None:
    rows = np.array(changed if len(changed) == 1 else sorted(set(changed)), np.intp)
    plugin, prepared = leading
    codes = chain(view, filters, rows, len(rows))
    for before, after in zip(known.codes[rows].tolist(), codes.tolist(), strict=True):
        known.counts[before] -= 1
        known.counts[after] += 1
    known.codes[rows] = codes
    known.feasible[rows] = codes == 0
    for whole, part in zip(known.measures, plugin.measure(prepared, view, rows), strict=True):
        whole[rows] = part
    known.position = view.pool.position()
