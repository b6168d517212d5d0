"""Short names for the values that manifests are full of: `gang(4)`, `basic()`, `topology("rack")`."""

from berth.workload.models.model import Empty
from berth.workload.models.parts import (
    CompositeGangSchedulingPolicy,
    CompositePodGroupSchedulingPolicy,
    DisruptionMode,
    GangSchedulingPolicy,
    PodGroupResourceClaim,
    PodGroupSchedulingPolicy,
    SchedulingConstraints,
    TopologyConstraint,
)


def basic() -> PodGroupSchedulingPolicy:
    """Pod by Pod: `basic: {}`."""
    return PodGroupSchedulingPolicy(basic=Empty())


def gang(min_count: int | None = None) -> PodGroupSchedulingPolicy:
    """At least `min_count` Pods or none. Only a building block may leave the number out."""
    return PodGroupSchedulingPolicy(gang=GangSchedulingPolicy(min_count=min_count))


def composite_basic() -> CompositePodGroupSchedulingPolicy:
    """Child by child: `basic: {}`."""
    return CompositePodGroupSchedulingPolicy(basic=Empty())


def composite_gang(min_group_count: int | None = None) -> CompositePodGroupSchedulingPolicy:
    """At least `min_group_count` children or none. Only a building block may leave the number out."""
    return CompositePodGroupSchedulingPolicy(gang=CompositeGangSchedulingPolicy(min_group_count=min_group_count))


def topology(key: str) -> SchedulingConstraints:
    """Everything below in one domain of the node label `key`."""
    return SchedulingConstraints(topology=(TopologyConstraint(key=key),))


def single() -> DisruptionMode:
    """Members may be preempted one by one: `single: {}`."""
    return DisruptionMode(single=Empty())


def whole() -> DisruptionMode:
    """Only the whole group may be preempted: `all: {}`."""
    return DisruptionMode(all=Empty())


def claim(name: str, *, claim_name: str | None = None, template_name: str | None = None) -> PodGroupResourceClaim:
    """A claim that the group's Pods share, by the name of a ResourceClaim or of a ResourceClaimTemplate.

    Raises:
        ValueError: neither or both are given.
    """
    if (claim_name is None) == (template_name is None):
        raise ValueError(f"claim {name!r} needs exactly one of claim_name and template_name")
    return PodGroupResourceClaim(name=name, resource_claim_name=claim_name, resource_claim_template_name=template_name)
