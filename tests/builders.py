"""Builders of what many tests start from: ready, fresh and unconstrained unless a test says otherwise.

`run`, `pod`, `workspace` and `node` give Kubernetes JSON; `item` and `candidate` give the plain values that placement
makes of it; `state_of` shows such values to a state. Identity follows one convention: the UID of anything is
`namespace/name`, so a test that needs another one says so.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from berth_server.framework.engine import Cycle
from berth_server.framework.profile import Profile, build
from berth_server.objects.clock import SECOND
from berth_server.objects.decode import DecodeError, Undecodable, decode
from berth_server.objects.faults import Faults
from berth_server.objects.item import Item
from berth_server.objects.resources import Resource, RunSpec
from berth_server.objects.runspec import TOPOLOGY_KEY, ParsedSpec, parse_spec
from berth_server.objects.selectors import Selector, compile_selector
from berth_server.objects.timestamps import format_time
from berth_server.placement.translate import instant
from berth_server.plugins import REGISTRY
from berth_server.state.candidate import Candidate, PoolKey
from berth_server.state.cluster import ClusterState
from berth_server.state.view import Workspace

Json = dict[str, Any]

NOW = 1_767_225_600 * SECOND
"""Wall microseconds at which tests take place: 2026-01-01T00:00:00Z, where `FakeClock` starts."""
MONOTONIC = 1000.0
"""The monotonic seconds that go with it."""


def ago(seconds: float) -> str:
    """Write the instant that is some seconds before `NOW`."""
    return format_time(instant(NOW) - timedelta(seconds=seconds))


# --- Kubernetes JSON -----------------------------------------------------------------------------------------------


def metadata(name: str, namespace: str, uid: str, version: int, **more: Any) -> Json:
    """Build `metadata`; a None among `more` is left out."""
    known = {"name": name, "namespace": namespace, "uid": uid or f"{namespace}/{name}", "resourceVersion": str(version)}
    return known | {key: value for key, value in more.items() if value is not None}


def run(
    name: str = "a",
    *,
    namespace: str = "ns",
    uid: str = "",
    version: int = 1,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    terminating: bool = False,
    on: Json | None = None,
    phase: str = "",
    status: Json | None = None,
    **spec: Any,
) -> Json:
    """Build a Run: Pending, or Running on the Pod `on`. `spec` as in `spec_json`, `status` adds to what follows."""
    found: Json = {"phase": phase or ("Running" if on else "Pending")}
    if on is not None:
        found |= {"assignedPod": on["metadata"]["name"], "assignedPodUID": on["metadata"]["uid"]}
    meta = metadata(
        name,
        namespace,
        uid,
        version,
        labels=labels,
        annotations=annotations,
        creationTimestamp=ago(60),
        deletionTimestamp=ago(1) if terminating else None,
    )
    return {"kind": "Run", "metadata": meta, "spec": spec_json(**spec), "status": found | (status or {})}


def spec_json(
    runtime: str = "py", requests: Mapping[str, Any] | None = None, workspace: str | None = None, **more: Any
) -> Json:
    """Build `spec` of a Run; `more` are further fields as they are."""
    spec = {"runtime": runtime} | more
    if requests is not None:
        spec["resources"] = {"requests": dict(requests)}
    if workspace is not None:
        spec["workspace"] = {"name": workspace}
    return spec


def pod(
    name: str = "p1",
    *,
    namespace: str = "ns",
    uid: str = "",
    version: int = 1,
    runtime: str | None = "py",
    capacity: Mapping[str, Any] | None = None,
    phase: str = "Running",
    ready: str = "True",
    runtimed: str = "True",
    stamp: str | None = ago(1),
    terminating: bool = False,
    node: str = "",
) -> Json:
    """Build a Runtime Pod, heard from a second ago; without `runtime` it is just a Pod."""
    meta = metadata(
        name,
        namespace,
        uid,
        version,
        labels=None if runtime is None else {"runtime": runtime},
        annotations={f"kruntimes.io/capacity.{resource}": str(units) for resource, units in (capacity or {}).items()},
        creationTimestamp=ago(60),
        deletionTimestamp=ago(1) if terminating else None,
    )
    heard = {"type": "kruntimes.io/RuntimedReady", "status": runtimed, "lastProbeTime": stamp}
    status = {"phase": phase, "conditions": [{"type": "Ready", "status": ready}, heard]}
    return {"kind": "Pod", "metadata": meta, "spec": {"nodeName": node}, "status": status}


def workspace(
    name: str = "w",
    *,
    namespace: str = "ns",
    uid: str = "",
    version: int = 1,
    runtime: str = "py",
    phase: str = "Bound",
    bound: str = "p1",
    bound_uid: str = "",
) -> Json:
    """Build a PersistentWorkspace, bound to p1 by name."""
    status = {"phase": phase, "boundPod": bound, "boundPodUID": bound_uid}
    meta = metadata(name, namespace, uid, version)
    return {"kind": "PersistentWorkspace", "metadata": meta, "spec": {"runtime": runtime}, "status": status}


def node(name: str = "n1", *, version: int = 1, labels: Mapping[str, str] | None = None) -> Json:
    """Build a Node."""
    return {"kind": "Node", "metadata": metadata(name, "", f"node {name}", version, labels=labels)}


def decoded(thing: Json) -> Resource:
    """Decode JSON as the edge does."""
    return decode(thing["kind"], json.dumps(thing).encode())


def broken(thing: Json) -> Json:
    """Return the same object, but so that it can't be decoded; who it is can be read all the same."""
    return {**thing, "metadata": thing["metadata"] | {"creationTimestamp": 7}}


def undecodable(thing: Json) -> Undecodable:
    """Fail to decode JSON as the edge does."""
    try:
        found = decoded(thing)
    except DecodeError as error:
        return error.undecodable
    raise AssertionError(f"{found} can be decoded")


# --- affinity ------------------------------------------------------------------------------------------------------


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
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": list(required),
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": weight, "runAffinityTerm": wanted} for weight, wanted in preferred
        ],
    }


def selector(raw: object = None, **match_labels: str) -> Selector:
    """Compile a LabelSelector, by default of `match_labels`."""
    compiled = compile_selector({"matchLabels": match_labels} if raw is None else raw, "selector", Faults())
    assert compiled is not None
    return compiled


# --- plain values --------------------------------------------------------------------------------------------------


def spec_of(**spec: Any) -> ParsedSpec:
    """Parse what `spec_json` builds."""
    raw = spec_json(**spec)
    return parse_spec(
        RunSpec(
            runtime=raw["runtime"],
            resources=raw.get("resources"),
            affinity=raw.get("affinity"),
            workspace=raw.get("workspace"),
            cancel_requested=raw.get("cancelRequested"),
            retry_policy=raw.get("retryPolicy"),
        )
    )


def item(
    name: str = "a",
    *,
    namespace: str = "ns",
    uid: str = "",
    version: int = 1,
    labels: Mapping[str, str] | None = None,
    on: str = "",
    on_uid: str | None = None,
    phase: str = "",
    attempt: int = 1,
    terminating: bool = False,
    link: str | None = None,
    retry_from: int | None = None,
    retry_seen: float = MONOTONIC,
    message: str = "",
    **spec: Any,
) -> Item:
    """Build an Item: Pending, or Running on the candidate named `on`, by its UID unless `on_uid` says otherwise."""
    assigned_uid = (f"{namespace}/{on}" if on else "") if on_uid is None else on_uid
    return Item(
        uid=uid or f"{namespace}/{name}",
        namespace=namespace,
        name=name,
        version=version,
        spec=spec_of(**spec),
        labels=dict(labels or {}),
        phase=phase or ("Running" if on or on_uid else "Pending"),
        attempt=attempt,
        terminating=terminating,
        assigned_name=on,
        assigned_uid=assigned_uid,
        link=link,
        retry_from=retry_from,
        retry_seen=retry_seen,
        message=message,
    )


def candidate(
    name: str = "p1",
    *,
    namespace: str = "ns",
    runtime: str = "py",
    uid: str = "",
    version: int = 1,
    invalid: bool = False,
    terminating: bool = False,
    ready: bool = True,
    age: float | None = 1.0,
    capacity: Mapping[str, int] | None = None,
) -> Candidate:
    """Build a candidate with `capacity` (runs: 2), whose stamp is `age` seconds old (None: it has none)."""
    return Candidate(
        uid=uid or f"{namespace}/{name}",
        pool=PoolKey(namespace, runtime),
        name=name,
        version=version,
        capacity=None if invalid else {"runs": 2} | dict(capacity or {}),
        terminating=terminating,
        ready=ready,
        stamp=None if age is None else NOW - round(age * SECOND),
    )


def state_of(*things: Item | Candidate | Workspace, live: bool = False) -> ClusterState:
    """Build a state that has seen `things` in that order; its clock stands still at `NOW` unless it is `live`."""
    state = ClusterState(None if live else NOW)
    see(state, *things)
    return state


def see(state: ClusterState, *things: Item | Candidate | Workspace, monotonic: float = MONOTONIC) -> None:
    """Show things to a state, the wall clock keeping step with the monotonic one."""
    for thing in things:
        match thing:
            case Item():
                state.put_item(thing)
            case Candidate():
                wall = NOW + round((monotonic - MONOTONIC) * SECOND)
                state.put_candidate(thing, monotonic=monotonic, wall=wall)
            case Workspace():
                state.put_workspace(thing)


# --- cycles --------------------------------------------------------------------------------------------------------

DEFAULT_PROFILE = build("default", (), REGISTRY)


def cycle_of(state: ClusterState, judged: Item, profile: Profile = DEFAULT_PROFILE) -> Cycle:
    """Prepare a cycle of an item on a state as it is."""
    return Cycle(profile, judged, state.view(judged))


def reasons_in(cycle: Cycle) -> dict[str, str]:
    """Give the reason of every candidate, "" where the item fits."""
    words = [""] + [reason for _, reason in cycle.profile.reasons]
    return {name: words[code] for name, code in zip(cycle.view.columns.names, cycle.filter().tolist(), strict=True)}
