"""From resolved configs to templates.

Compiling does not judge counts and keys; the API server does, and `Builder.validate` before it. It refuses only what
has no translation: a gang without a count.
"""

from berth.workload.admission import PriorityClasses
from berth.workload.builder.errors import BuilderError
from berth.workload.builder.item import SchedulingConfig, WorkloadItem
from berth.workload.builder.preemption import agreed_policy
from berth.workload.builder.resolve import resolve
from berth.workload.models import (
    CompositePodGroupSchedulingPolicy,
    CompositePodGroupTemplate,
    DisruptionMode,
    PodGroupSchedulingPolicy,
    PodGroupTemplate,
    SchedulingConstraints,
    WorkloadSpec,
    basic,
    composite_basic,
    composite_gang,
    gang,
    single,
    whole,
)


def compile_tree(root: WorkloadItem, classes: PriorityClasses | None) -> WorkloadSpec:
    """The spec of one tree: a leaf as root gives one leaf template, a composite one composite template.

    Raises:
        BuilderError: see `build_workload`.
    """
    if root.is_composite:
        return WorkloadSpec(composite_pod_group_templates=(_composite(root, classes),))
    return WorkloadSpec(pod_group_templates=(_leaf(root, classes),))


def _leaf(item: WorkloadItem, classes: PriorityClasses | None) -> PodGroupTemplate:
    config = resolve(item)
    return PodGroupTemplate(
        name=item.name,
        scheduling_policy=_leaf_policy(item, config.policy),
        scheduling_constraints=_constraints(config.constraints),
        resource_claims=config.resource_claims,
        disruption_mode=_mode(config.disruption_mode),
        priority_class_name=config.priority_class_name,
        preemption_policy=preemption_policy_of(item, config, classes),
    )


def _composite(item: WorkloadItem, classes: PriorityClasses | None) -> CompositePodGroupTemplate:
    config = resolve(item)
    return CompositePodGroupTemplate(
        name=item.name,
        scheduling_policy=_composite_policy(item, config.policy),
        scheduling_constraints=_constraints(config.constraints),
        disruption_mode=_mode(config.disruption_mode),
        priority_class_name=config.priority_class_name,
        preemption_policy=preemption_policy_of(item, config, classes),
        pod_group_templates=tuple(_leaf(child, classes) for child in item.children if not child.is_composite),
        composite_pod_group_templates=tuple(
            _composite(child, classes) for child in item.children if child.is_composite
        ),
    )


def preemption_policy_of(item: WorkloadItem, config: SchedulingConfig, classes: PriorityClasses | None) -> str | None:
    """The preemption policy of an item's template.

    Raises:
        BuilderError: at the item's path; see `agreed_policy`.
    """
    try:
        return agreed_policy(config.priority_class_name, config.preemption_policy, classes)
    except BuilderError as error:
        raise BuilderError(error.problem, item.path) from None


def _leaf_policy(item: WorkloadItem, policy: PodGroupSchedulingPolicy | None) -> PodGroupSchedulingPolicy:
    if policy is None or policy.gang is None:
        return basic()
    if policy.gang.min_count is None:
        raise BuilderError(f"the gang of {item.name!r} has no minCount after all callbacks", item.at(item.input.policy))
    return gang(policy.gang.min_count)


def _composite_policy(item: WorkloadItem, policy: PodGroupSchedulingPolicy | None) -> CompositePodGroupSchedulingPolicy:
    if policy is None or policy.gang is None:
        return composite_basic()
    if policy.gang.min_count is None:
        problem = f"the gang of {item.name!r} has no minGroupCount after all callbacks"
        raise BuilderError(problem, item.at(item.input.policy))
    return composite_gang(policy.gang.min_count)


def _constraints(constraints: SchedulingConstraints | None) -> SchedulingConstraints | None:
    return constraints if constraints is not None and constraints.topology else None


def _mode(mode: DisruptionMode | None) -> DisruptionMode | None:
    if mode is None or (mode.single is None and mode.all is None):
        return None
    return single() if mode.all is None else whole()
