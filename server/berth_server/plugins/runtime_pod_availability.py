"""A Runtime Pod must be up, heard from, and have room for what the Run asks for.

Only requested resources are looked at: a Pod that is overcommitted in another one still takes the Run.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from berth_server.framework.contracts import Codes
from berth_server.objects.changes import ChangeKind
from berth_server.objects.item import Item
from berth_server.queue.events import ADDED, Cure, Cures, Scope
from berth_server.state.candidate import Availability
from berth_server.state.pool import Int64s
from berth_server.state.view import Rows, View

_NOT_ADVERTISED = len(Availability)
_INSUFFICIENT = _NOT_ADVERTISED + 1
_CAPACITY = Cure(ChangeKind.CANDIDATE_CAPACITY, Scope.POOL)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """`indexes`: rows of the capacity matrix; None if some requested resource is advertised by nobody in the pool."""

    requests: tuple[tuple[str, int], ...]
    indexes: list[int] | None
    amounts: Int64s


class RuntimePodAvailability:
    """Filter: the Pod's own state, then its advertised capacity against use."""

    NAME: ClassVar[str] = "RuntimePodAvailability"
    ARGUMENTS: ClassVar[Mapping[str, Sequence[object]]] = {}
    ROW_LOCAL: ClassVar[bool] = True
    REASONS: ClassVar[tuple[str, ...]] = (
        "RuntimePodTerminating",
        "RuntimePodNotReady",
        "StaleHeartbeat",
        "SkewedClock",
        "InvalidCapacity",
        "ResourceNotAdvertised",
        "InsufficientCapacity",
    )

    CURES: ClassVar[Cures] = {
        **dict.fromkeys(REASONS[:5], frozenset({ADDED, Cure(ChangeKind.CANDIDATE_AVAILABLE, Scope.POOL)})),
        "ResourceNotAdvertised": frozenset({ADDED, _CAPACITY}),
        "InsufficientCapacity": frozenset({ADDED, _CAPACITY, Cure(ChangeKind.CAPACITY_RELEASED, Scope.POOL)}),
    }

    def prepare(self, item: Item, view: View) -> _Wanted:
        """Look up the columns of the requested resources."""
        requests, known = item.spec.requests, view.columns.resources
        amounts = np.array([[amount] for _, amount in requests], np.int64)
        everywhere = all(resource in known for resource, _ in requests)
        return _Wanted(requests, [known[resource] for resource, _ in requests] if everywhere else None, amounts)

    def class_key(self, item: Item) -> Hashable:
        """The request vector."""
        return item.spec.requests

    def filter(self, prepared: _Wanted, view: View, rows: Rows | slice) -> Codes:
        """See Filter. Never adds use and request: int64 would wrap."""
        state = view.columns.availability[rows]
        if prepared.indexes is None:
            return np.where(state, state, np.uint8(_NOT_ADVERTISED))
        capacity, used = view.columns.capacity[:, rows], view.used[:, rows]
        if len(prepared.indexes) != len(capacity):
            capacity, used = capacity[prepared.indexes], used[prepared.indexes]
        # A resource that is not advertised has capacity -1, and so is short as well.
        short = (prepared.amounts > capacity - used).any(axis=0)
        if not short.any():
            return state.copy()
        missing = (capacity < 0).any(axis=0)
        lack = np.where(missing, np.uint8(_NOT_ADVERTISED), np.where(short, np.uint8(_INSUFFICIENT), np.uint8(0)))
        return np.where(state, state, lack)

    def detail(self, prepared: _Wanted, view: View, row: int, code: int) -> str:
        """Name the first resource that is missing or short."""
        if code == _NOT_ADVERTISED:
            missing = [resource for resource, _ in prepared.requests if _capacity(view, resource, row) < 0]
            return f"{missing[0]}: not advertised"
        if code == _INSUFFICIENT:
            return next(
                f"{resource}: needs {amount}, free {max(free, 0)}"
                for resource, amount in prepared.requests
                if amount > (free := _free(view, resource, row))
            )
        return ""

    def nearest(self, prepared: _Wanted, view: View, rows: Rows, code: int) -> tuple[int, str] | None:
        """Of Pods that are short, the one that is short of the fewest resources, then of the least."""
        if code != _INSUFFICIENT:
            return None
        # For people: float64 is near enough to tell which lacks least.
        columns = view.columns
        asked, indexes = prepared.amounts.astype(np.float64), prepared.indexes or []
        free = columns.capacity[:, rows].astype(np.float64) - view.used[:, rows]
        lack = np.maximum(asked - free[indexes], 0.0)
        order = np.lexsort((lack.sum(axis=0), (lack > 0).sum(axis=0)))
        row = int(rows[order[0]])
        return row, self.detail(prepared, view, row, code)


def _capacity(view: View, resource: str, row: int) -> int:
    index = view.columns.resources.get(resource)
    return -1 if index is None else int(view.columns.capacity[index, row])


def _free(view: View, resource: str, row: int) -> int:
    return _capacity(view, resource, row) - int(view.used[view.columns.resources[resource], row])
