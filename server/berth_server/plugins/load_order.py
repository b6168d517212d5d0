"""Comparing loads exactly, on columns.

A load is (largest ratio, sum of ratios) over the resources of which a Pod has any; loads compare as rational numbers.
Where the capacities of a pool have a common denominator that fits, ratios become integers and int64 arithmetic is
exact. Where they have none, float64 ranks, and what is closer than 1e-12 is settled in Fractions, once per distinct
row.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from berth_server.objects.quantity import MAX_UNITS
from berth_server.state.pool import Columns, Int64s
from berth_server.state.view import Rows, View

_DENOMINATOR_BOUND: Final = 2**50
_TOO_FULL: Final = np.int64(2**62)
"""Stands for a load that int64 can't hold: a Pod overcommitted beyond measure. Such loads are settled in Fractions."""
_NONE: Final = np.int64(2**63 - 1)
_NEAR: Final = 1e-12
"""Relative. Far above the error of a few float64 operations, which is below 1e-15 for each resource."""

Load = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class _Scale:
    """Integers in place of ratios: ratio * common denominator = units * factor. int64[R, N], 0 where there is none."""

    factor: Int64s
    limit: Int64s
    """int64[R, N]: the most units whose product with that factor, summed over all resources, is at most 2^62. A load
    beyond it is larger than any within, whatever the rows."""
    limit_of_all: Int64s
    """int64[R]: the smallest limit."""


class LoadOrder:
    """The loads that one request vector would make, on the rows of one view."""

    __slots__ = ("_asked", "_columns", "_scale", "_used")

    def __init__(self, view: View, requests: tuple[tuple[str, int], ...]) -> None:
        self._columns = view.columns
        self._used = view.used
        self._asked = np.zeros((len(view.columns.resources), 1), np.int64)
        for resource, amount in requests:
            index = view.columns.resources.get(resource)
            if index is not None:
                # More than 2^62 fits nowhere; a row that can't take it holds no meaningful load.
                self._asked[index] = min(amount, MAX_UNITS)
        if "scale" not in view.pool.derived:
            view.pool.derived["scale"] = _scale(view.columns)
        self._scale: _Scale | None = view.pool.derived["scale"]

    def measure(self, rows: Rows | slice) -> list[NDArray[Any]]:
        """Return (largest, total) per row: int64 and exact, or float64 where the pool has no common denominator."""
        units = self._used[:, rows] + self._asked
        if self._scale is None:
            capacity = self._columns.capacity[:, rows]
            ratios = np.divide(units, capacity, out=np.zeros(units.shape), where=capacity > 0)
            return [ratios.max(axis=0, initial=0.0), ratios.sum(axis=0)]
        if (units.max(axis=1, initial=0) <= self._scale.limit_of_all).all():
            ratios = units * self._scale.factor[:, rows]
            return [ratios.max(axis=0, initial=0), ratios.sum(axis=0)]
        beyond = units > self._scale.limit[:, rows]
        ratios = np.where(beyond, 0, units) * self._scale.factor[:, rows]
        counts = (beyond & (self._scale.factor[:, rows] > 0)).any(axis=0)
        return [
            np.where(counts, _TOO_FULL, ratios.max(axis=0, initial=0)),
            np.where(counts, _TOO_FULL, ratios.sum(axis=0)),
        ]

    def masked(self, rows: Rows | slice, feasible: NDArray[np.bool_]) -> list[NDArray[Any]]:
        """Return what `measure` does, with a largest load beyond all others where a row is not feasible."""
        largest, total = self.measure(rows)
        if not feasible.all():
            largest = np.where(feasible, largest, np.inf if self._scale is None else _NONE)
        return [largest, total]

    def first(self, masked: Sequence[NDArray[Any]]) -> int:
        """Return the feasible row with the smallest load, of several the first; -1 if no row is feasible."""
        largest, total = masked
        if not len(largest):
            return -1
        leader = int(largest.argmin())
        least = largest[leader]
        if self._scale is None:
            return -1 if least == np.inf else self._settle_first(np.flatnonzero(largest <= least * (1 + _NEAR)))
        if least == _NONE:
            return -1
        ties = np.flatnonzero(largest == least)
        if least == _TOO_FULL:
            return self._settle_first(ties)
        return int(ties[total[ties].argmin()]) if len(ties) > 1 else leader

    def ranks(self, rows: Rows) -> Int64s:
        """Return dense ranks, 0 for the smallest load; rows share a rank exactly when their loads are equal."""
        largest, total = self.measure(rows)
        # Sorting twice by one key is several times faster than numpy's lexsort by two.
        order = np.argsort(_dense(largest) * len(rows) + _dense(total))
        largest, total = largest[order], total[order]
        if self._scale is not None:
            steps = (np.diff(largest) != 0) | (np.diff(total) != 0)
            unsettled = largest[1:] == _TOO_FULL
            joined = unsettled & (largest[:-1] == _TOO_FULL)
        else:
            steps = np.ones(max(len(rows) - 1, 0), np.bool_)
            joined = np.diff(largest) <= largest[1:] * _NEAR
        for start, end in _runs(joined):
            order[start:end], steps[start : end - 1] = self._settle(rows, order[start:end])
        ranks = np.empty(len(rows), np.int64)
        ranks[order] = np.concatenate(([0], np.cumsum(steps))) if len(rows) else order
        return ranks

    def exact(self, row: int) -> Load:
        """Return the load of one row as it is."""
        ratios = [
            Fraction(int(used) + int(asked), int(capacity))
            for used, asked, capacity in zip(
                self._used[:, row], self._asked[:, 0], self._columns.capacity[:, row], strict=True
            )
            if capacity > 0
        ]
        return max(ratios, default=Fraction(0)), sum(ratios, Fraction(0))

    def _settle_first(self, near: Rows) -> int:
        if len(near) == 1 or self._alike(near):
            return int(near[0])
        loads = self._loads(near)
        return int(near[min(range(len(near)), key=loads.__getitem__)])

    def _settle(self, rows: Rows, positions: Rows) -> tuple[Rows, NDArray[np.bool_]]:
        """Order `positions` (into `rows`) by exact load; tell where each differs from the one before it."""
        if self._alike(rows[positions]):
            return positions, np.zeros(len(positions) - 1, np.bool_)
        loads = self._loads(rows[positions])
        order = sorted(range(len(positions)), key=loads.__getitem__)
        steps = [loads[after] != loads[before] for before, after in pairwise(order)]
        return positions[order], np.array(steps, np.bool_)

    def _alike(self, rows: Rows) -> bool:
        """Rows whose columns equal the first one's have its load, without any arithmetic."""
        pattern = self._patterns(rows)
        return bool((pattern == pattern[0]).all())

    def _loads(self, rows: Rows) -> list[Load]:
        known: dict[bytes, Load] = {}
        loads = []
        for row, pattern in zip(rows.tolist(), self._patterns(rows), strict=True):
            key = pattern.tobytes()
            if key not in known:
                known[key] = self.exact(row)
            loads.append(known[key])
        return loads

    def _patterns(self, rows: Rows) -> Int64s:
        return np.ascontiguousarray(np.vstack((self._used[:, rows], self._columns.capacity[:, rows])).T)


def _dense(values: NDArray[Any]) -> Int64s:
    """Return the rank of each value, 0 for the smallest; equal values share one."""
    order = np.argsort(values)
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.concatenate(([0], np.cumsum(np.diff(values[order]) != 0)))[: len(values)]
    return ranks


def _scale(columns: Columns) -> _Scale | None:
    """Return the integers that stand for ratios, or None if the capacities' least common multiple is too large."""
    denominator = 1
    for row in columns.capacity:
        # Not numpy's unique: its first call imports numpy.ma, which would stop the event loop for 50 ms.
        for capacity in sorted(set(row[row > 0].tolist())):
            denominator = math.lcm(denominator, capacity)
            if denominator > _DENOMINATOR_BOUND:
                return None
    positive = columns.capacity > 0
    factor = np.floor_divide(denominator, columns.capacity, out=np.zeros_like(columns.capacity), where=positive)
    resources = max(len(columns.resources), 1)
    limit = 2**62 // (resources * np.maximum(factor, 1))
    return _Scale(factor, limit, limit.min(axis=1, initial=2**62))


def _runs(joined: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the stretches [start, end) of more than one position that `joined` (position i with i+1) links."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], joined, [False])).astype(np.int8)))
    return [(int(start), int(end) + 1) for start, end in edges.reshape(-1, 2)]
