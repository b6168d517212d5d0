"""Workload: the templates from which a controller makes groups, flat or as trees of at most four levels."""

from typing import ClassVar

from berth.workload.models.meta import ObjectMeta
from berth.workload.models.model import Int32, Model
from berth.workload.models.parts import (
    CompositePodGroupSchedulingPolicy,
    DisruptionMode,
    PodGroupResourceClaim,
    PodGroupSchedulingPolicy,
    SchedulingConstraints,
    TypedLocalObjectReference,
)


class PodGroupTemplate(Model, frozen=True):
    """A leaf: the template of groups of Pods. Nothing in it is ever defaulted by the API server."""

    name: str = ""
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()
    disruption_mode: DisruptionMode | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: str | None = None

    served: ClassVar[frozenset[str]] = frozenset({"scheduling_constraints"})


class CompositePodGroupTemplate(Model, frozen=True):
    """A node: the template of groups of groups, with leaves, nodes or both below it. It has no resource claims."""

    name: str = ""
    scheduling_policy: CompositePodGroupSchedulingPolicy = CompositePodGroupSchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: str | None = None
    pod_group_templates: tuple[PodGroupTemplate, ...] = ()
    composite_pod_group_templates: tuple["CompositePodGroupTemplate", ...] = ()


class WorkloadSpec(Model, frozen=True):
    """Exactly one of the two lists: leaves only, or trees only."""

    controller_ref: TypedLocalObjectReference | None = None
    pod_group_templates: tuple[PodGroupTemplate, ...] = ()
    composite_pod_group_templates: tuple[CompositePodGroupTemplate, ...] = ()

    served: ClassVar[frozenset[str]] = frozenset({"pod_group_templates"})


class Workload(Model, frozen=True):
    """scheduling.k8s.io Workload (KEP-4671). It has no status."""

    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()

    served: ClassVar[frozenset[str]] = frozenset({"spec"})
