"""The parts of Kubernetes objects that Berth reads, as structs that msgspec decodes straight from JSON.

Partial on purpose: what a struct does not name is skipped while decoding and costs nothing. Every optional map or list
may be null, as the API server writes it. Fields of `RunSpec` stay untyped: a newer CRD may put there what this version
does not know, and that must be told apart from what is wrong (`runspec`). This module must not interpret anything.
"""

from typing import Any, ClassVar, Final

import msgspec


class Identity(msgspec.Struct, frozen=True, rename="camel"):
    """`metadata`, as far as it tells which object this is, and which version of it."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""

    @property
    def version(self) -> int:
        """The resourceVersion as an integer; 0 if there is none."""
        return int(self.resource_version or 0)


class ObjectMeta(Identity, frozen=True, rename="camel"):
    """`metadata`, as far as it is read."""

    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    generation: int | None = None


class RunSpec(msgspec.Struct, frozen=True, rename="camel"):
    """`spec` of a Run, unjudged: `runspec.parse_spec` says what it means."""

    runtime: Any = None
    resources: Any = None
    affinity: Any = None
    workspace: Any = None
    cancel_requested: Any = None
    timeout: Any = None
    retry_policy: Any = None


class RunStatus(msgspec.Struct, frozen=True, rename="camel"):
    """`status` of a Run. `conditions` stays raw JSON, to be written back whole with ours replaced."""

    phase: str | None = None
    assigned_pod: str | None = None
    assigned_pod_uid: str | None = msgspec.field(default=None, name="assignedPodUID")
    attempt: int | None = None
    message: str | None = None
    conditions: msgspec.Raw = msgspec.Raw()


class Run(msgspec.Struct, frozen=True, rename="camel"):
    """One execution (`kruntimes.io/v1alpha1`)."""

    kind: ClassVar[str] = "Run"
    metadata: ObjectMeta
    spec: RunSpec | None = None
    status: RunStatus | None = None


class Condition(msgspec.Struct, frozen=True, rename="camel"):
    """One entry of `status.conditions`, of a Run or a Pod."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    last_probe_time: str | None = None
    last_transition_time: str | None = None


class PodSpec(msgspec.Struct, frozen=True, rename="camel"):
    """`spec` of a Pod, as far as it is read."""

    node_name: str | None = None


class PodStatus(msgspec.Struct, frozen=True, rename="camel"):
    """`status` of a Pod, as far as it is read."""

    phase: str | None = None
    conditions: list[Condition] | None = None


class Pod(msgspec.Struct, frozen=True, rename="camel"):
    """A Pod; with the label `runtime` it is a Runtime Pod."""

    kind: ClassVar[str] = "Pod"
    metadata: ObjectMeta
    spec: PodSpec | None = None
    status: PodStatus | None = None


class WorkspaceSpec(msgspec.Struct, frozen=True, rename="camel"):
    """`spec` of a PersistentWorkspace, as far as it is read."""

    runtime: str | None = None


class WorkspaceStatus(msgspec.Struct, frozen=True, rename="camel"):
    """`status` of a PersistentWorkspace, as far as it is read."""

    phase: str | None = None
    bound_pod: str | None = None
    bound_pod_uid: str | None = msgspec.field(default=None, name="boundPodUID")


class PersistentWorkspace(msgspec.Struct, frozen=True, rename="camel"):
    """Storage that ties its Runs to one Runtime Pod while it is bound (`kruntimes.io/v1alpha1`)."""

    kind: ClassVar[str] = "PersistentWorkspace"
    metadata: ObjectMeta
    spec: WorkspaceSpec | None = None
    status: WorkspaceStatus | None = None


class Node(msgspec.Struct, frozen=True, rename="camel"):
    """A Node: its name and labels give the topology domains of the Pods on it."""

    kind: ClassVar[str] = "Node"
    metadata: ObjectMeta


type_of_kind: Final[dict[str, type[Run | Pod | PersistentWorkspace | Node]]] = {
    "Run": Run,
    "Pod": Pod,
    "PersistentWorkspace": PersistentWorkspace,
    "Node": Node,
}
Resource = Run | Pod | PersistentWorkspace | Node

RUNTIME_LABEL: Final = "runtime"
CAPACITY_PREFIX: Final = "kruntimes.io/capacity."
RUNTIMED_READY: Final = "kruntimes.io/RuntimedReady"
GROUP_ANNOTATION: Final = "berth.dev/pod-group-name"
