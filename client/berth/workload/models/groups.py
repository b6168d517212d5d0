"""PodGroup and CompositePodGroup: the groups at run time, self-contained copies of their templates."""

from typing import ClassVar

from berth.workload.models.meta import Condition, ObjectMeta
from berth.workload.models.model import Int32, Model
from berth.workload.models.parts import (
    CompositePodGroupSchedulingPolicy,
    DisruptionMode,
    PodGroupResourceClaim,
    PodGroupSchedulingPolicy,
    SchedulingConstraints,
    WorkloadReference,
)


class PodGroupSpec(Model, frozen=True):
    """What a group of Pods asks for. Only `scheduling_policy.gang.min_count` may change after creation."""

    parent_composite_pod_group_name: str | None = None
    workload_ref: WorkloadReference | None = None
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()
    disruption_mode: DisruptionMode | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: str | None = None


class PodGroupResourceClaimStatus(Model, frozen=True):
    """The ResourceClaim that serves the entry `name` of `spec.resourceClaims`; None while there is none."""

    name: str = ""
    resource_claim_name: str | None = None


class PodGroupStatus(Model, frozen=True):
    """What schedulers and controllers observed of a group of Pods."""

    conditions: tuple[Condition, ...] = ()
    resource_claim_statuses: tuple[PodGroupResourceClaimStatus, ...] = ()


class PodGroup(Model, frozen=True):
    """scheduling.k8s.io PodGroup: Pods that are scheduled together. A root, or the child of a CompositePodGroup."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    served: ClassVar[frozenset[str]] = frozenset({"spec", "status"})


class CompositePodGroupSpec(Model, frozen=True):
    """What a group of groups asks for. Nothing in it may change; children name it, it does not name them."""

    parent_composite_pod_group_name: str | None = None
    workload_ref: WorkloadReference | None = None
    scheduling_policy: CompositePodGroupSchedulingPolicy = CompositePodGroupSchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: str | None = None


class CompositePodGroupStatus(Model, frozen=True):
    """What schedulers observed of a group of groups."""

    conditions: tuple[Condition, ...] = ()


class CompositePodGroup(Model, frozen=True):
    """scheduling.k8s.io/v1alpha3 CompositePodGroup: groups that are scheduled together. No other version has it."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CompositePodGroupSpec = CompositePodGroupSpec()
    status: CompositePodGroupStatus = CompositePodGroupStatus()

    served: ClassVar[frozenset[str]] = frozenset({"spec", "status"})
