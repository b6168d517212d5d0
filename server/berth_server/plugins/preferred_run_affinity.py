"""Preferred affinity and anti-affinity: the weights of the terms that hold on a Pod, as a share of the best sum."""

from collections.abc import Hashable, Mapping, Sequence
from typing import ClassVar

import numpy as np

from berth_server.framework.contracts import MAX_NODE_SCORE
from berth_server.objects.item import Item
from berth_server.state.pool import Int64s
from berth_server.state.view import Rows, View


class PreferredRunAffinity:
    """Score: sum of the weights of the terms that hold, normalised by the largest sum among the feasible Pods."""

    NAME: ClassVar[str] = "PreferredRunAffinity"
    ARGUMENTS: ClassVar[Mapping[str, Sequence[object]]] = {}
    DEFAULT_WEIGHT: ClassVar[int] = 1

    def prepare(self, item: Item, view: View) -> Int64s | None:
        """Sum up the weights per row of the pool."""
        spec = item.spec
        if not spec.preferred_affinity and not spec.preferred_anti:
            return None
        sums = np.zeros(len(view.columns), np.int64)
        for weight, selector in spec.preferred_affinity:
            sums[view.targets(selector).rows] += weight
        for weight, selector in spec.preferred_anti:
            sums += weight
            sums[view.targets(selector).rows] -= weight
        return sums

    def class_key(self, item: Item) -> Hashable:
        """The preferred terms."""
        return item.spec.preferred_affinity, item.spec.preferred_anti

    def score(self, prepared: Int64s, view: View, rows: Rows) -> Int64s:
        """See Score."""
        del view
        return prepared[rows]

    def normalize(self, keys: Int64s) -> Int64s:
        """Return 100 for the largest sum, the others in proportion, rounded down; all 0 if no term holds anywhere."""
        largest = int(keys.max())
        return keys * MAX_NODE_SCORE // largest if largest else keys

    def raw(self, prepared: Int64s, view: View, row: int) -> int:
        """Return the sum of weights."""
        del view
        return int(prepared[row])
