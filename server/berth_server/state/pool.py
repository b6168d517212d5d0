"""The candidates of one pool as numpy columns: the ledger's projection that a cycle is computed on.

Rows stand in name order, so the first minimum is the lexicographic tie break. Rows that come or go are staged and laid
out at the next view, all at once; a changed row is written in place. Nothing is rebuilt per cycle, and nothing here
depends on how many Runs exist. Written by `ClusterState` alone; readers get read-only views that hold until the next
await.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from berth_server.objects.quantity import MAX_UNITS
from berth_server.state.candidate import Availability, Candidate, PoolKey

Int64s = NDArray[np.int64]
NOT_ADVERTISED = -1
Array = TypeVar("Array", NDArray[np.uint8], Int64s)
_LOG_BOUND = 4096
_epochs = count(1)


@dataclass(frozen=True, slots=True)
class Columns:
    """One layout of a pool: N candidates, R resources. Arrays are live until the next await, and read-only.

    `availability` uint8[N] as in `Availability`; `capacity` int64[R, N], NOT_ADVERTISED where a candidate does not name
    the resource, at most 2^62; `used` int64[R, N], at most 2^62. `epoch` changes when rows come, go or change identity,
    never otherwise.
    """

    key: PoolKey
    epoch: int
    names: tuple[str, ...]
    uids: tuple[str, ...]
    row_of_name: Mapping[str, int]
    row_of_uid: Mapping[str, int]
    resources: Mapping[str, int]
    availability: NDArray[np.uint8]
    capacity: Int64s
    used: Int64s

    def __len__(self) -> int:
        return len(self.names)


@dataclass(slots=True)
class _Row:
    """What a row shows."""

    candidate: Candidate
    availability: Availability
    use: Mapping[str, int]


@dataclass(slots=True)
class Pool:
    """The live columns of one pool, and a bounded log of the rows that changed."""

    key: PoolKey
    capacity_generation: int = 0
    """Rises whenever any capacity or the layout changes."""
    derived: dict[str, Any] = field(default_factory=dict)
    """What others computed from the capacities alone; emptied when any of them changes."""
    _rows: dict[str, _Row] = field(default_factory=dict)
    _columns: Columns | None = None
    _uids: tuple[str, ...] = ()
    _epoch: int = field(default_factory=lambda: next(_epochs))
    _availability: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))
    _capacity: Int64s = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    _used: Int64s = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    _log: list[int] = field(default_factory=list)
    _log_start: int = 0

    def put(self, candidate: Candidate, availability: Availability, use: Mapping[str, int]) -> None:
        """Show `candidate` with what is taken of it; in place where only values changed."""
        row = self._rows.get(candidate.name)
        self._rows[candidate.name] = _Row(candidate, availability, dict(use))
        same = row is not None and row.candidate.uid == candidate.uid
        if not same or not self._has_columns_for(candidate):
            self._columns = None
        elif row is not None and row.candidate.capacity != candidate.capacity:
            self._capacity_changed()
        self._refresh(candidate.name)

    def remove(self, name: str) -> None:
        """Forget the candidate of that name."""
        if self._rows.pop(name, None) is not None:
            self._columns = None

    def show_use(self, name: str, use: Mapping[str, int]) -> None:
        """What is taken of that candidate changed."""
        self._rows[name].use = dict(use)
        if self._columns is not None:
            self._write_use(self._columns.row_of_name[name], use, self._columns.resources)

    def show_availability(self, name: str, availability: Availability) -> None:
        """Whether that candidate takes Runs changed."""
        self._rows[name].availability = availability
        self._refresh(name)

    def columns(self) -> Columns:
        """Return the columns as of now; the same object while rows neither come nor go."""
        if self._columns is None:
            self._columns = self._lay_out()
        return self._columns

    def position(self) -> int:
        """Return the end of the log of changed rows, to ask `changed_since` with later."""
        return self._log_start + len(self._log)

    def changed_since(self, position: int) -> list[int] | None:
        """Rows that changed since `position` in the present layout; None: too long ago, look at all of them."""
        if position < self._log_start:
            return None
        return self._log[position - self._log_start :]

    def __len__(self) -> int:
        return len(self._rows)

    def __bool__(self) -> bool:
        return bool(self._rows)

    def _has_columns_for(self, candidate: Candidate) -> bool:
        return self._columns is not None and all(
            resource in self._columns.resources for resource in candidate.capacity or ()
        )

    def _capacity_changed(self) -> None:
        self.capacity_generation += 1
        self.derived.clear()

    def _lay_out(self) -> Columns:
        self._capacity_changed()
        self._log_start = self.position()
        self._log = []
        names = tuple(sorted(self._rows))
        rows = [self._rows[name] for name in names]
        # Only what somebody advertises has a column: a request for anything else is infeasible everywhere.
        advertised = sorted({resource for row in rows for resource in row.candidate.capacity or ()})
        shape = (len(advertised), len(names))
        self._availability = np.array([row.availability for row in rows], np.uint8)
        self._capacity = np.array([[_capacity(row, name) for row in rows] for name in advertised], np.int64).reshape(
            shape
        )
        self._used = np.array([[_used(row.use, name) for row in rows] for name in advertised], np.int64).reshape(shape)
        uids = tuple(row.candidate.uid for row in rows)
        if uids != self._uids:
            self._uids, self._epoch = uids, next(_epochs)
        return Columns(
            key=self.key,
            epoch=self._epoch,
            names=names,
            uids=uids,
            row_of_name={name: number for number, name in enumerate(names)},
            row_of_uid={uid: number for number, uid in enumerate(uids)},
            resources={resource: index for index, resource in enumerate(advertised)},
            availability=_read_only(self._availability),
            capacity=_read_only(self._capacity),
            used=_read_only(self._used),
        )

    def _refresh(self, name: str) -> None:
        if self._columns is None:
            return
        number, row, resources = self._columns.row_of_name[name], self._rows[name], self._columns.resources
        self._availability[number] = row.availability
        for resource, index in resources.items():
            self._capacity[index, number] = _capacity(row, resource)
        self._write_use(number, row.use, resources)

    def _write_use(self, number: int, use: Mapping[str, int], resources: Mapping[str, int]) -> None:
        for resource, index in resources.items():
            self._used[index, number] = _used(use, resource)
        if len(self._log) >= _LOG_BOUND:
            self._log_start = self.position()
            self._log = []
        self._log.append(number)


def _capacity(row: _Row, resource: str) -> int:
    return min((row.candidate.capacity or {}).get(resource, NOT_ADVERTISED), MAX_UNITS)


def _used(use: Mapping[str, int], resource: str) -> int:
    return min(use.get(resource, 0), MAX_UNITS)


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view
