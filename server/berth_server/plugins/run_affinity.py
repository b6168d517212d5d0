"""Required affinity and anti-affinity of the Run itself, between Runs on one Runtime Pod.

A term is met by a target that is assigned or reserved, on the Runtime Pods of all runtimes of the namespace. A term
that no target meets anywhere may be seeded by a Run that meets it itself, judged term by term (kruntimes' rule;
Kubernetes judges all terms of a Pod together).
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from berth_server.framework.contracts import Codes
from berth_server.objects.changes import ChangeKind
from berth_server.objects.item import Item
from berth_server.objects.selectors import Selector
from berth_server.queue.events import ADDED, Cure, Cures, Scope
from berth_server.state.view import Rows, View

_AFFINITY, _ANTI_AFFINITY = 1, 2


@dataclass(frozen=True, slots=True)
class _Terms:
    """Per row of the pool: all affinity terms are met; no anti-affinity term is."""

    attracted: NDArray[np.bool_]
    repelled: NDArray[np.bool_]
    absent: tuple[Selector, ...]
    """Affinity terms that no target of the pool meets and that this Run may not seed."""


class RunAffinity:
    """Filter: where the required terms hold."""

    NAME: ClassVar[str] = "RunAffinity"
    ARGUMENTS: ClassVar[Mapping[str, Sequence[object]]] = {}
    ROW_LOCAL: ClassVar[bool] = False
    REASONS: ClassVar[tuple[str, ...]] = ("UnsatisfiedRunAffinity", "UnsatisfiedRunAntiAffinity")

    CURES: ClassVar[Cures] = {
        # Targets come and go with their Pods, too, in any pool of the namespace: the last one to go allows seeding.
        "UnsatisfiedRunAffinity": frozenset(
            Cure(kind, Scope.NAMESPACE)
            for kind in (
                ChangeKind.TARGET_ADDED,
                ChangeKind.TARGET_REMOVED,
                ChangeKind.CANDIDATE_ADDED,
                ChangeKind.CANDIDATE_REMOVED,
            )
        ),
        "UnsatisfiedRunAntiAffinity": frozenset({ADDED, Cure(ChangeKind.TARGET_REMOVED, Scope.NAMESPACE)}),
    }

    def prepare(self, item: Item, view: View) -> _Terms | None:
        """Find the targets of every term."""
        spec = item.spec
        if not spec.required_affinity and not spec.required_anti:
            return None
        attracted = np.ones(len(view.columns), np.bool_)
        absent = []
        for selector in spec.required_affinity:
            found = view.targets(selector)
            if not found.anywhere and selector.matches(item.labels):
                continue
            here = np.zeros(len(view.columns), np.bool_)
            here[found.rows] = True
            attracted &= here
            if not len(found.rows):
                absent.append(selector)
        repelled = np.zeros(len(view.columns), np.bool_)
        for selector in spec.required_anti:
            repelled[view.targets(selector).rows] = True
        return _Terms(attracted, repelled, tuple(absent))

    def class_key(self, item: Item) -> Hashable:
        """The terms, and the labels, which decide whether the Run may seed."""
        return item.spec.required_affinity, item.spec.required_anti, frozenset(item.labels.items())

    def filter(self, prepared: _Terms, view: View, rows: Rows | slice) -> Codes:
        """See Filter."""
        del view
        repelled = np.where(prepared.repelled[rows], np.uint8(_ANTI_AFFINITY), np.uint8(0))
        return np.where(prepared.attracted[rows], repelled, np.uint8(_AFFINITY))

    def detail(self, prepared: _Terms, view: View, row: int, code: int) -> str:
        """Say whether a target is elsewhere or nowhere."""
        del view, row
        if code == _ANTI_AFFINITY:
            return "a Run that it must not share with is here"
        return "no target is in this pool, and the Run can't seed it" if prepared.absent else "its target is elsewhere"

    def nearest(self, prepared: _Terms, view: View, rows: Rows, code: int) -> tuple[int, str] | None:
        """No Pod is nearer than another."""
        del prepared, view, rows, code
        return None
