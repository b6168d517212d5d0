"""`gang.minCount`, the one number that follows: from a job's spec to its Workload and to the groups that run."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from berth.workload import (
    CompositePodGroupTemplate,
    PodGroup,
    PodGroupSchedulingPolicy,
    PodGroupTemplate,
    Workload,
    gang,
)
from berth.workload.builder import walk_templates


def counts_of(workload: Workload) -> dict[str, int]:
    """The count of each leaf template that is a gang, by the template's name."""
    leaves = (place.template for place in walk_templates(workload) if isinstance(place.template, PodGroupTemplate))
    counts = ((leaf.name, leaf.scheduling_policy.gang) for leaf in leaves)
    return {name: policy.min_count for name, policy in counts if policy is not None and policy.min_count is not None}


def with_counts(workload: Workload, counts: Mapping[str, int]) -> Workload:
    """The Workload with these counts in its gangs. Nothing else changes; a policy never changes its variant."""
    spec = replace(
        workload.spec,
        pod_group_templates=_leaves(workload.spec.pod_group_templates, counts),
        composite_pod_group_templates=_composites(workload.spec.composite_pod_group_templates, counts),
    )
    return replace(workload, spec=spec)


def with_count(group: PodGroup, count: int | None) -> PodGroup:
    """The group with this count in its gang, if it has one and there is a count."""
    return replace(group, spec=replace(group.spec, scheduling_policy=_policy(group.spec.scheduling_policy, count)))


def _leaves(leaves: Sequence[PodGroupTemplate], counts: Mapping[str, int]) -> tuple[PodGroupTemplate, ...]:
    return tuple(
        replace(leaf, scheduling_policy=_policy(leaf.scheduling_policy, counts.get(leaf.name))) for leaf in leaves
    )


def _composites(
    nodes: Sequence[CompositePodGroupTemplate], counts: Mapping[str, int]
) -> tuple[CompositePodGroupTemplate, ...]:
    return tuple(
        replace(
            node,
            pod_group_templates=_leaves(node.pod_group_templates, counts),
            composite_pod_group_templates=_composites(node.composite_pod_group_templates, counts),
        )
        for node in nodes
    )


def _policy(policy: PodGroupSchedulingPolicy, count: int | None) -> PodGroupSchedulingPolicy:
    if count is None or policy.gang is None or policy.gang.min_count == count:
        return policy
    return gang(count)
