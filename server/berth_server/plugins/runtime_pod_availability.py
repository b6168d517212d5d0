"""A Runtime Pod must be up, heard from, and have room for what the Run asks for.

Only requested resources are looked at: a Pod that is overcommitted in another one still takes the Run.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from berth_server.framework.contracts import Codes
from berth_server.objects.item import Item
from berth_server.state.candidate import Availability
from berth_server.state.pool import Int64s
from berth_server.state.view import Rows, View

_NOT_ADVERTISED = len(Availability)
_INSUFFICIENT = _NOT_ADVERTISED + 1


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
        short = (prepared.amounts > capacity - used).any(axis=0)
        if not short.any() and not (capacity < 0).any():
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
        row = min(rows.tolist(), key=lambda row: (*self._lack(prepared, view, row), row))
        return row, self.detail(prepared, view, row, code)

    def _lack(self, prepared: _Wanted, view: View, row: int) -> tuple[int, int]:
        lacks = [amount - _free(view, resource, row) for resource, amount in prepared.requests]
        short = [lack for lack in lacks if lack > 0]
        return len(short), sum(short)


def _capacity(view: View, resource: str, row: int) -> int:
    index = view.columns.resources.get(resource)
    return -1 if index is None else int(view.columns.capacity[index, row])


def _free(view: View, resource: str, row: int) -> int:
    return _capacity(view, resource, row) - int(view.used[view.columns.resources[resource], row])
