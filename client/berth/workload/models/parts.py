"""What templates and groups are made of: policy, constraints, disruption mode, resource claims, references.

The same types are the *building blocks* of scheduling.k8s.io/v1alpha3 that other APIs embed in their own specs
(`Workload{PodGroup,CompositePodGroup}*`). They differ from the parts of a Workload in one point only: a block may leave
out `minCount` and `minGroupCount`, which is why both are optional here and validation decides.
"""

from berth.workload.models.model import Empty, Int32, Model


class GangSchedulingPolicy(Model, frozen=True):
    """All or nothing: at least `min_count` Pods at the same time, or none (KEP-4671)."""

    min_count: Int32 | None = None


class PodGroupSchedulingPolicy(Model, frozen=True):
    """How a group of Pods is scheduled: exactly one of `basic` (Pod by Pod) and `gang`."""

    basic: Empty | None = None
    gang: GangSchedulingPolicy | None = None


class CompositeGangSchedulingPolicy(Model, frozen=True):
    """All or nothing over groups: at least `min_group_count` child groups at the same time, or none."""

    min_group_count: Int32 | None = None


class CompositePodGroupSchedulingPolicy(Model, frozen=True):
    """How a group of groups is scheduled: exactly one of `basic` and `gang`."""

    basic: Empty | None = None
    gang: CompositeGangSchedulingPolicy | None = None


class TopologyConstraint(Model, frozen=True):
    """All Pods below in one domain of the node label `key`."""

    key: str = ""


class SchedulingConstraints(Model, frozen=True):
    """Where a group may go. At most one topology constraint; without one there is no constraint."""

    topology: tuple[TopologyConstraint, ...] = ()


class DisruptionMode(Model, frozen=True):
    """What preemption may take: exactly one of `single` (any member by itself) and `all` (the whole group)."""

    single: Empty | None = None
    all: Empty | None = None


class PodGroupResourceClaim(Model, frozen=True):
    """A ResourceClaim that the Pods of a group share, named directly or by its template, never both (KEP-5729)."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class TypedLocalObjectReference(Model, frozen=True):
    """The object that a Workload belongs to, in the same namespace; for tools, no scheduler reads it."""

    api_group: str = ""
    kind: str = ""
    name: str = ""


class WorkloadReference(Model, frozen=True):
    """The Workload and the template in it that a group was made from."""

    workload_name: str = ""
    template_name: str = ""


WorkloadPodGroupSchedulingPolicy = PodGroupSchedulingPolicy
WorkloadPodGroupSchedulingConstraints = SchedulingConstraints
WorkloadPodGroupDisruptionMode = DisruptionMode
WorkloadPodGroupResourceClaim = PodGroupResourceClaim
WorkloadCompositePodGroupSchedulingPolicy = CompositePodGroupSchedulingPolicy
WorkloadCompositePodGroupSchedulingConstraints = SchedulingConstraints
WorkloadCompositePodGroupDisruptionMode = DisruptionMode
