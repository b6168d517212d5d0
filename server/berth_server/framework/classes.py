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

from berth_server.framework.contracts import Filter, Leading, Prepared
from berth_server.state.pool import Columns
from berth_server.state.view import View

MAX_CLASSES = 256


@dataclass(slots=True)
class _Class:
    """Verdicts of one class on one layout of one pool, as of a position in the pool's log."""

    columns: Columns
    capacity_generation: int
    position: int
    feasible: NDArray[np.bool_]
    measures: list[NDArray[Any]]


class ClassCache:
    """(pool, class key) -> verdicts. The least recently used goes first."""

    __slots__ = ("_classes",)

    def __init__(self) -> None:
        self._classes: OrderedDict[Hashable, _Class] = OrderedDict()

    def choose(
        self, key: Hashable, view: View, filters: Sequence[tuple[Filter, Prepared]], leading: tuple[Leading, Prepared]
    ) -> int:
        """Return the best row for an item of that class, or -1. The view must be shared (nothing left out of it)."""
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
        return plugin.leader(prepared, view, known.measures, known.feasible)

    def __len__(self) -> int:
        return len(self._classes)


def _compute(view: View, filters: Sequence[tuple[Filter, Prepared]], leading: tuple[Leading, Prepared]) -> _Class:
    everything = slice(None)
    plugin, prepared = leading
    return _Class(
        view.columns,
        view.pool.capacity_generation,
        view.pool.position(),
        _feasible(view, filters, everything, len(view.columns)),
        list(plugin.measure(prepared, view, everything)),
    )


def _patch(
    known: _Class,
    changed: list[int],
    view: View,
    filters: Sequence[tuple[Filter, Prepared]],
    leading: tuple[Leading, Prepared],
) -> None:
    rows = np.array(changed if len(changed) == 1 else sorted(set(changed)), np.intp)
    plugin, prepared = leading
    known.feasible[rows] = _feasible(view, filters, rows, len(rows))
    for whole, part in zip(known.measures, plugin.measure(prepared, view, rows), strict=True):
        whole[rows] = part
    known.position = view.pool.position()


def _feasible(
    view: View, filters: Sequence[tuple[Filter, Prepared]], rows: NDArray[np.intp] | slice, count: int
) -> NDArray[np.bool_]:
    feasible = np.ones(count, np.bool_)
    for plugin, prepared in filters:
        feasible &= plugin.filter(prepared, view, rows) == 0
    return feasible
