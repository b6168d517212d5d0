"""What the edge knows about kinds: where their API is, whether they have a namespace, what of them is watched.

A bare kind names exactly one API. Other groups have kinds of the same name (Tekton's Run, Volcano's PodGroup); those
are kept apart by the name that kubectl uses for them, `Run.tekton.dev`. This module must not know what a kind means.
"""

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind. `group` is empty for the core API; `plural` is empty if it is never asked of an API server."""

    name: str
    group: str = ""
    version: str = "v1"
    plural: str = ""
    namespaced: bool = True
    has_status: bool = True
    """Whether `status` is written through a subresource and through nothing else."""
    selector: str = ""
    """The labels that an object must have to be listed and watched; empty: all are."""
    metadata_only: bool = False
    """Only its metadata is asked for: the rest would be sent, and skipped."""
    moderation: float = 0.01
    """Seconds between two looks at a watch that brings more than one event in that time."""

    @property
    def resource(self) -> str:
        """Its name in RBAC rules and in sentences: `runs.kruntimes.io`, `pods`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "") -> str:
        """Return the URL path of an object, or of the collection if `name` is empty (everywhere without namespace)."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        inside = f"/namespaces/{namespace}" if namespace else ""
        return f"{root}{inside}/{self.plural}" + (f"/{name}" if name else "")


_KINDS: Final = (
    Kind("Run", "kruntimes.io", "v1alpha1", "runs"),
    Kind("Runtime", "kruntimes.io"),
    Kind("PersistentWorkspace", "kruntimes.io", "v1alpha1", "persistentworkspaces"),
    # Heartbeats: two thousand a second of ten thousand Pods, and none of them is urgent.
    Kind("Pod", plural="pods", selector="runtime", moderation=0.04),
    Kind("Node", plural="nodes", namespaced=False, metadata_only=True),
    Kind("Namespace", namespaced=False),
    Kind("Event.events.k8s.io", "events.k8s.io", "v1", "events", has_status=False),
    Kind("PodGroup", "scheduling.k8s.io"),
    Kind("CompositePodGroup", "scheduling.k8s.io"),
    Kind("Workload", "scheduling.k8s.io", has_status=False),
    Kind("PriorityClass", "scheduling.k8s.io", namespaced=False, has_status=False),
)
_BY_NAME: Final = {kind.name: kind for kind in _KINDS}


def kind_of(name: str) -> Kind:
    """Return the kind of that (store) name; one that is not known is namespaced and its status is no subresource."""
    return _BY_NAME.get(name) or Kind(name, has_status=False)


def store_name(raw: dict[str, Any]) -> str:
    """Return the name under which an object's kind is kept: bare for known and core kinds, else `Kind.group`.

    An object without apiVersion is taken for the kind that Berth knows by that name.
    """
    kind = str(raw["kind"])
    group, slash, _ = str(raw.get("apiVersion") or "").partition("/")
    if not slash or kind_of(kind).group == group:
        return kind
    return f"{kind}.{group}"
