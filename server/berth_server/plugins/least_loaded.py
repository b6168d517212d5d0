"""Spread: the Pod whose fullest resource would be least full comes first, then the one with the smaller sum.

Scores are ranks, not ratios: two Pods at 50.0 % and 50.1 % score 100 and 0, and equal Pods score alike (the rule of
kruntimes).
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from berth_server.framework.contracts import MAX_NODE_SCORE
from berth_server.objects.item import Item
from berth_server.plugins.load_order import LoadOrder
from berth_server.state.pool import Int64s
from berth_server.state.view import Rows, View

_MICRO = 1_000_000
_MAX_RAW = 2**63 - 1


class LeastLoaded:
    """Score: rank by projected utilisation (used + requested) / capacity of every advertised resource that has any."""

    NAME: ClassVar[str] = "LeastLoaded"
    ARGUMENTS: ClassVar[Mapping[str, Sequence[object]]] = {}
    DEFAULT_WEIGHT: ClassVar[int] = 1

    def prepare(self, item: Item, view: View) -> LoadOrder | None:
        """Choose the arithmetic in which loads of this pool compare exactly."""
        return LoadOrder(view, item.spec.requests) if len(view.columns) else None

    def class_key(self, item: Item) -> Hashable:
        """The request vector."""
        return item.spec.requests

    def score(self, prepared: LoadOrder, view: View, rows: Rows) -> Int64s:
        """Return dense ranks, 0 for the least loaded; equal loads share one."""
        del view
        return prepared.ranks(rows)

    def normalize(self, keys: Int64s) -> Int64s:
        """A group of equal ranks that starts at position s of n scores (n-1-s)*100 // (n-1); one Pod alone 100."""
        count = len(keys)
        if count == 1:
            return np.array([MAX_NODE_SCORE], np.int64)
        starts = np.searchsorted(np.sort(keys), keys, side="left")
        return ((count - 1 - starts) * MAX_NODE_SCORE // (count - 1)).astype(np.int64)

    def raw(self, prepared: LoadOrder, view: View, row: int) -> int:
        """Return the largest ratio in millionths, rounded down, at most 2^63-1."""
        del view
        largest, _ = prepared.exact(row)
        return min(int(largest * _MICRO), _MAX_RAW)

    def measure(
        self, prepared: LoadOrder, view: View, rows: Rows | slice, feasible: NDArray[np.bool_]
    ) -> Sequence[NDArray[Any]]:
        """See Leading."""
        del view
        return prepared.masked(rows, feasible)

    def leader(self, prepared: LoadOrder, view: View, measures: Sequence[NDArray[Any]]) -> int:
        """See Leading."""
        del view
        return prepared.first(measures)
