"""What the edge knows about kinds: their API group, whether they have a namespace, whether status is a subresource.

A bare kind names exactly one API. Other groups have kinds of the same name (Tekton's Run, Volcano's PodGroup); those
are kept apart by the name that kubectl uses for them, `Run.tekton.dev`. This module must not know what a kind means.
"""

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind. `group` is empty for the core API."""

    name: str
    group: str = ""
    namespaced: bool = True
    has_status: bool = True
    """Whether `status` is written through a subresource and through nothing else."""


_KINDS: Final = (
    Kind("Run", "kruntimes.io"),
    Kind("Runtime", "kruntimes.io"),
    Kind("PersistentWorkspace", "kruntimes.io"),
    Kind("Pod"),
    Kind("Node", namespaced=False),
    Kind("Namespace", namespaced=False),
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
