"""What one decision looks at: one pool and all that bears on it, at one generation, without the item itself.

An item is always judged as if it were nowhere: its own use, its reservation, and itself as a target are left out. A
view holds until the next await; it must not be kept, and nothing can be changed through it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from berth_server.objects.quantity import MAX_UNITS
from berth_server.objects.selectors import Selector
from berth_server.state.candidate import Candidate
from berth_server.state.pool import Columns, Int64s, Pool
from berth_server.state.targets import Target, Targets

if TYPE_CHECKING:
    from berth_server.state.cluster import ClusterState

Rows = NDArray[np.intp]
_NO_TARGETS = Targets()


@dataclass(frozen=True, slots=True)
class Workspace:
    """A PersistentWorkspace as last observed."""

    uid: str
    namespace: str
    name: str
    version: int
    runtime: str
    phase: str
    bound_pod: str
    bound_pod_uid: str


@dataclass(frozen=True, slots=True)
class Found:
    """Where a selector's targets are: rows of this pool, ascending, and whether any is in the namespace at all."""

    rows: Rows
    anywhere: bool


class View:
    """One pool for one item. `used` int64[R, N] as in `Columns`, the item's own use left out."""

    __slots__ = ("_besides", "_cluster", "_targets", "columns", "generation", "namespace", "pool", "used")

    def __init__(self, cluster: "ClusterState", pool: Pool, namespace: str, item_uid: str) -> None:
        self.pool = pool
        self.columns = columns = pool.columns()
        self.namespace = namespace
        self.generation = cluster.generation
        self._cluster = cluster
        presences = cluster.occupancy.where(item_uid)
        self._besides: Mapping[str, Target] = {
            uid: presence.target for uid, presence in presences.items() if presence.namespace == namespace
        }
        self._targets = cluster.occupancy.targets.get(namespace, _NO_TARGETS)
        rows = [uid for uid in presences if uid in columns.row_of_uid]
        self.used: Int64s = _without(cluster, columns, item_uid, rows) if rows else columns.used

    @property
    def shared(self) -> bool:
        """Nothing had to be left out: the item is nowhere in this pool, and `used` is everybody's."""
        return self.used is self.columns.used

    def targets(self, selector: Selector) -> Found:
        """Find the Runs, assigned or reserved, that `selector` selects on Runtime Pods of the namespace."""
        return self._found(self._targets.matching(selector, self._besides))

    def repellers(self, labels: Mapping[str, str]) -> Found:
        """Find the Runs whose required anti-affinity selects `labels`."""
        return self._found(self._targets.repelling(labels, self._besides))

    @property
    def repels(self) -> bool:
        """Whether any Run of the namespace repels anybody."""
        return self._targets.repels

    def workspace(self, name: str) -> Workspace | None:
        """Return the PersistentWorkspace of that name in the namespace."""
        return self._cluster.workspaces.get((self.namespace, name))

    def candidate_named(self, name: str) -> Candidate | None:
        """Return the Runtime Pod of that name in the namespace, in any pool."""
        return self._cluster.candidate_named(self.namespace, name)

    def _found(self, uids: set[str]) -> Found:
        # A target whose Pod is not in view can neither be joined nor does it forbid seeding.
        here = [uid for uid in uids if self._cluster.in_namespace(uid, self.namespace)]
        row_of = self.columns.row_of_uid
        rows = np.array(sorted(row_of[uid] for uid in here if uid in row_of), np.intp)
        return Found(rows, bool(here))


def _without(cluster: "ClusterState", columns: Columns, item_uid: str, candidates: list[str]) -> Int64s:
    used = columns.used.copy()
    for uid in candidates:
        rest = cluster.occupancy.ledger.use_without(uid, item_uid)
        for resource, index in columns.resources.items():
            used[index, columns.row_of_uid[uid]] = min(rest.get(resource, 0), MAX_UNITS)
    used.flags.writeable = False
    return used
