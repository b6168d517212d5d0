"""JSON of small objects for the tests of the Workload API."""

from typing import Any

GANG = {"gang": {"minCount": 4}}


def leaf(name: str = "workers", **fields: Any) -> dict[str, Any]:
    """A leaf template with a gang policy."""
    return {"name": name, "schedulingPolicy": GANG, **fields}


def node(name: str = "root", *leaves: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A composite template with leaves below it."""
    return {"name": name, "schedulingPolicy": {"basic": {}}, "podGroupTemplates": list(leaves), **fields}


def workload(*leaves: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """A Workload of leaf templates."""
    return {
        "kind": "Workload",
        "metadata": {"name": "training", **metadata},
        "spec": {"podGroupTemplates": list(leaves or [leaf()])},
    }


def tree(*nodes: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """A Workload of composite templates."""
    return {
        "kind": "Workload",
        "metadata": {"name": "training", **metadata},
        "spec": {"compositePodGroupTemplates": list(nodes)},
    }


def pod_group(metadata: dict[str, Any] | None = None, status: Any = None, **spec: Any) -> dict[str, Any]:
    """A PodGroup with a gang policy, unless `spec` says otherwise."""
    body = {"kind": "PodGroup", "metadata": {"name": "workers-0", **(metadata or {})}}
    body["spec"] = {"schedulingPolicy": GANG, **spec}
    return body if status is None else {**body, "status": status}


def stored_pod_group(metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """The same as a server stores it, with resourceVersion 1."""
    filled = {"disruptionMode": {"single": {}}, "priority": 0, "preemptionPolicy": "PreemptLowerPriority", **spec}
    return pod_group({"resourceVersion": "1", **(metadata or {})}, **filled)


def condition(**fields: Any) -> dict[str, Any]:
    """A complete condition."""
    return {
        "type": "PodGroupInitiallyScheduled",
        "status": "True",
        "reason": "Scheduled",
        "message": "",
        "lastTransitionTime": "2026-09-01T00:00:00Z",
        **fields,
    }
