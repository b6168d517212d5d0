"""A Run with a workspace goes where that workspace is bound, and nowhere if the place is lost."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from berth_server.framework.contracts import Codes
from berth_server.objects.changes import ChangeKind
from berth_server.objects.item import Item
from berth_server.queue.events import Cure, Cures, Scope
from berth_server.state.view import Rows, View, Workspace

_MISMATCH, _LOST, _PINNED, _NOT_FOUND, _PENDING = range(1, 6)
_LOST_PHASES = frozenset({"Lost", "Released"})


@dataclass(frozen=True, slots=True)
class _Verdict:
    """`code` for every row but `pinned_to`, the one row that may take the Run (-1: none)."""

    code: int
    pinned_to: int
    detail: str


class WorkspacePlacement:
    """Filter: only the Pod that the workspace is bound to.

    Argument `unbound`: what a workspace that is absent or not bound yet means. `ignore` (default): no restriction,
    since nothing in kruntimes binds workspaces at present; `wait`: the Run waits for it.
    """

    NAME: ClassVar[str] = "WorkspacePlacement"
    ARGUMENTS: ClassVar[Mapping[str, Sequence[object]]] = {"unbound": ("ignore", "wait")}
    ROW_LOCAL: ClassVar[bool] = False
    REASONS: ClassVar[tuple[str, ...]] = (
        "WorkspaceMismatch",
        "WorkspaceLost",
        "WorkspacePinned",
        "WorkspaceNotFound",
        "WorkspacePending",
    )

    CURES: ClassVar[Cures] = dict.fromkeys(
        REASONS,
        # A Pod may come or go in another pool of the namespace and still be the one that the workspace is bound to.
        frozenset(
            Cure(kind, Scope.NAMESPACE)
            for kind in (ChangeKind.WORKSPACE_CHANGED, ChangeKind.CANDIDATE_ADDED, ChangeKind.CANDIDATE_REMOVED)
        ),
    )

    def __init__(self, unbound: str = "ignore") -> None:
        self._wait = unbound == "wait"

    def prepare(self, item: Item, view: View) -> _Verdict | None:
        """Find the workspace and what follows from it for every row at once."""
        name = item.spec.workspace_name
        if name is None:
            return None
        workspace = view.workspace(name)
        if workspace is None:
            return _Verdict(_NOT_FOUND, -1, f"workspace {name} does not exist") if self._wait else None
        if workspace.runtime != item.spec.runtime:
            return _Verdict(_MISMATCH, -1, f"workspace {name} is of runtime {workspace.runtime or '(none)'}")
        if workspace.phase in _LOST_PHASES:
            return _Verdict(_LOST, -1, f"workspace {name} is {workspace.phase}")
        if workspace.phase != "Bound" or not workspace.bound_pod:
            return _Verdict(_PENDING, -1, f"workspace {name} is not bound yet") if self._wait else None
        return _bound(workspace, view)

    def class_key(self, item: Item) -> Hashable:
        """The workspace and the runtime."""
        return item.spec.workspace_name, item.spec.runtime

    def filter(self, prepared: _Verdict, view: View, rows: Rows | slice) -> Codes:
        """See Filter."""
        numbers = np.arange(len(view.columns))[rows]
        return np.where(numbers == prepared.pinned_to, np.uint8(0), np.uint8(prepared.code))

    def detail(self, prepared: _Verdict, view: View, row: int, code: int) -> str:
        """Name the workspace and where it is."""
        del view, row, code
        return prepared.detail

    def nearest(self, prepared: _Verdict, view: View, rows: Rows, code: int) -> tuple[int, str] | None:
        """No Pod is nearer than another."""
        del prepared, view, rows, code
        return None


def _bound(workspace: Workspace, view: View) -> _Verdict:
    candidate = view.candidate_named(workspace.bound_pod)
    if candidate is None:
        return _Verdict(_LOST, -1, f"workspace {workspace.name} is bound to {workspace.bound_pod}, which is gone")
    if workspace.bound_pod_uid and workspace.bound_pod_uid != candidate.uid:
        return _Verdict(_LOST, -1, f"workspace {workspace.name} is bound to an earlier {workspace.bound_pod}")
    row = view.columns.row_of_uid.get(candidate.uid, -1)
    return _Verdict(_PINNED, row, f"workspace {workspace.name} is bound to {workspace.bound_pod}")
