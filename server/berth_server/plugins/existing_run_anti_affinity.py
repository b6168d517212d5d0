"""Required anti-affinity of Runs that are there already: it holds both ways, as in Kubernetes.

The scheduler that kruntimes comes with does not have this rule; a profile can switch it off.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import ClassVar

import numpy as np

from berth_server.framework.contracts import Codes
from berth_server.objects.changes import ChangeKind
from berth_server.objects.item import Item
from berth_server.queue.events import ADDED, Cure, Cures, Scope
from berth_server.state.view import Rows, View


class ExistingRunAntiAffinity:
    """Filter: Pods where no active or reserved Run repels this one's labels."""

    NAME: ClassVar[str] = "ExistingRunAntiAffinity"
    ARGUMENTS: ClassVar[Mapping[str, Sequence[object]]] = {}
    ROW_LOCAL: ClassVar[bool] = False
    REASONS: ClassVar[tuple[str, ...]] = ("ExistingRunAntiAffinity",)

    CURES: ClassVar[Cures] = {
        "ExistingRunAntiAffinity": frozenset({ADDED, Cure(ChangeKind.TARGET_REMOVED, Scope.NAMESPACE)})
    }

    def prepare(self, item: Item, view: View) -> Rows | None:
        """Find the rows that repel."""
        if not view.repels:
            return None
        rows = view.repellers(item.labels).rows
        return rows if len(rows) else None

    def class_key(self, item: Item) -> Hashable:
        """The labels."""
        return frozenset(item.labels.items())

    def filter(self, prepared: Rows, view: View, rows: Rows | slice) -> Codes:
        """See Filter."""
        codes = np.zeros(len(view.columns), np.uint8)
        codes[prepared] = 1
        return codes[rows]

    def detail(self, prepared: Rows, view: View, row: int, code: int) -> str:
        """Say whose rule it is."""
        del prepared, view, row, code
        return "a Run here has anti-affinity to this one's labels"

    def nearest(self, prepared: Rows, view: View, rows: Rows, code: int) -> tuple[int, str] | None:
        """No Pod is nearer than another."""
        del prepared, view, rows, code
        return None
