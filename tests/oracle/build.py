"""Builders of the objects in hand-computed cases: ready, fresh and unconstrained unless a case says otherwise."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.oracle.ask import PREFERRED, REQUIRED, TOPOLOGY_KEY
from tests.oracle.fields import Json
from tests.oracle.rules import Reserved, Verdict, judge
from tests.oracle.view import CAPACITY_PREFIX

AS_OF = datetime(2026, 3, 1, 12, tzinfo=UTC)


def ago(seconds: float) -> str:
    """Write the instant that is some seconds before `AS_OF`."""
    return (AS_OF - timedelta(seconds=seconds)).isoformat(timespec="microseconds").replace("+00:00", "Z")


def pod(
    name: str, *, namespace: str = "x", runtime: str = "py", uid: str = "", stamp: Any = "", **capacity: str
) -> Json:
    """Build a Runtime Pod; further arguments are the capacity that its annotations advertise."""
    heartbeat = {
        "type": "kruntimes.io/RuntimedReady",
        "status": "True",
        "lastProbeTime": ago(1) if stamp == "" else stamp,
    }
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid or f"{namespace}/{name}",
            "labels": {"runtime": runtime},
            "annotations": {CAPACITY_PREFIX + resource: text for resource, text in capacity.items()},
        },
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}, heartbeat]},
    }


def run(
    name: str = "a", *, namespace: str = "x", labels: Json | None = None, status: Json | None = None, **spec: Any
) -> Json:
    """Build a Pending Run; further arguments are entries of its spec."""
    return {
        "kind": "Run",
        "metadata": {"name": name, "namespace": namespace, "uid": f"run {namespace}/{name}", "labels": labels},
        "spec": {"runtime": "py"} | spec,
        "status": status,
    }


def active(name: str, on: Json, *, phase: str = "Running", labels: Json | None = None, **spec: Any) -> Json:
    """Build a Run that is active on a Pod, in the Pod's namespace and of its runtime."""
    meta = on["metadata"]
    status = {"phase": phase, "assignedPod": meta["name"], "assignedPodUID": meta["uid"]}
    spec = {"runtime": meta["labels"]["runtime"]} | spec
    return run(name, namespace=meta["namespace"], labels=labels, status=status, **spec)


def reservation(of: Json, on: Json) -> Reserved:
    """Build the reservation of a Run on a Pod."""
    meta = of["metadata"]
    return Reserved(meta["uid"], (meta["namespace"], meta["name"]), on["metadata"]["uid"])


def workspace(name: str, *, runtime: str | None = "py", **status: str | None) -> Json:
    """Build a workspace in namespace x; further arguments are entries of its status."""
    meta = {"name": name, "namespace": "x", "uid": f"workspace {name}"}
    return {"kind": "PersistentWorkspace", "metadata": meta, "spec": {"runtime": runtime}, "status": status}


def asks(**requests: Any) -> Json:
    """Build `spec.resources`."""
    return {"requests": requests}


def term(**match_labels: str) -> Json:
    """Build a term that selects these labels."""
    return {"labelSelector": {"matchLabels": match_labels}, "topologyKey": TOPOLOGY_KEY}


def joins(*terms: Json, preferred: Sequence[tuple[int, Json]] = ()) -> Json:
    """Build `spec.affinity` with affinity terms."""
    return {"runAffinity": _terms(terms, preferred)}


def avoids(*terms: Json, preferred: Sequence[tuple[int, Json]] = ()) -> Json:
    """Build `spec.affinity` with anti-affinity terms."""
    return {"runAntiAffinity": _terms(terms, preferred)}


def _terms(required: Sequence[Json], preferred: Sequence[tuple[int, Json]]) -> Json:
    weighted = [{"weight": weight, "runAffinityTerm": wanted} for weight, wanted in preferred]
    return {REQUIRED: list(required), PREFERRED: weighted}


def decide(judged: Json, *others: Json, reserved: Sequence[Reserved] = (), unbound: str = "ignore") -> Verdict:
    """Judge one Run among other objects."""
    key = (judged["metadata"]["namespace"], judged["metadata"]["name"])
    return judge([judged, *others], AS_OF, key, reserved=reserved, unbound=unbound)


def reasons(verdict: Verdict) -> dict[str, str]:
    """Give the reason for each rejected Pod."""
    return {name: reason for name, (_, reason) in verdict.rejections.items()}
