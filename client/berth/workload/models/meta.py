"""The parts of metav1 that the three kinds use: ObjectMeta, owners and conditions."""

from collections.abc import Mapping
from typing import Any, ClassVar

from berth.workload.models.model import Int64, Model, Time


class OwnerReference(Model, frozen=True):
    """An owner: when the last one is deleted, the garbage collector deletes this object too."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Model, frozen=True):
    """metav1.ObjectMeta. `managed_fields` is kept as it is and never read."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    self_link: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: Int64 = 0
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: Int64 | None = None
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    managed_fields: tuple[Any, ...] = ()


class Condition(Model, frozen=True):
    """metav1.Condition: one observation of an object, keyed by `type`."""

    type: str = ""
    status: str = ""
    observed_generation: Int64 = 0
    last_transition_time: Time | None = None
    reason: str = ""
    message: str = ""

    served: ClassVar[frozenset[str]] = frozenset({"type", "status", "last_transition_time", "reason", "message"})
