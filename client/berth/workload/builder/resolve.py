"""Resolution: the controller's defaults, under the user's blocks, under the controller's callbacks.

A block replaces the default as a whole, never field by field: the user's `gang: {}` takes the place of a default gang
of 8, and a callback has to fill in its count. An empty block counts as left out.
"""

from dataclasses import replace

from berth.workload.builder.errors import BuilderError
from berth.workload.builder.item import PolicyData, SchedulingConfig, WorkloadInput, WorkloadItem
from berth.workload.models import (
    CompositePodGroupSchedulingPolicy,
    DisruptionMode,
    PodGroupResourceClaim,
    PodGroupSchedulingPolicy,
    SchedulingConstraints,
    TopologyConstraint,
    basic,
    gang,
    single,
    whole,
)


def resolve(item: WorkloadItem) -> SchedulingConfig:
    """The config that an item ends up with. Children are not looked at.

    Raises:
        BuilderError: a callback returned no config.
    """
    config = _over(item.default_config or SchedulingConfig(), said(item.input))
    for callback in item.callbacks:
        if callback is None:
            continue
        config = callback(config)
        if not isinstance(config, SchedulingConfig):
            raise BuilderError(f"a callback of item {item.name!r} must return a SchedulingConfig", item.path)
    return config


def said(blocks: WorkloadInput) -> SchedulingConfig:
    """The user's part of the config, without defaults."""
    return SchedulingConfig(
        policy=policy_of(blocks.policy.data),
        constraints=_constraints(blocks.constraints.data),
        disruption_mode=_mode(blocks.disruption_mode.data),
        resource_claims=tuple(_claim(item) for item in blocks.resource_claims.data or ()),
    )


def _over(default: SchedulingConfig, user: SchedulingConfig) -> SchedulingConfig:
    return replace(
        default,
        policy=user.policy or default.policy,
        constraints=user.constraints or default.constraints,
        disruption_mode=user.disruption_mode or default.disruption_mode,
        resource_claims=user.resource_claims or default.resource_claims,
    )


def policy_of(data: PolicyData | None) -> PodGroupSchedulingPolicy | None:
    """Of both members basic counts; that there are two is the structural check's to report."""
    if data is None or (data.basic is None and data.gang is None):
        return None
    if data.basic is not None or data.gang is None:
        return basic()
    if isinstance(data, CompositePodGroupSchedulingPolicy):
        return gang(data.gang.min_group_count)
    return gang(data.gang.min_count)


def _constraints(data: SchedulingConstraints | None) -> SchedulingConstraints | None:
    if data is None or not data.topology:
        return None
    return SchedulingConstraints(topology=tuple(TopologyConstraint(key=item.key) for item in data.topology))


def _mode(data: DisruptionMode | None) -> DisruptionMode | None:
    """Of both members single counts."""
    if data is None or (data.single is None and data.all is None):
        return None
    return whole() if data.single is None else single()


def _claim(data: PodGroupResourceClaim) -> PodGroupResourceClaim:
    return PodGroupResourceClaim(
        name=data.name,
        resource_claim_name=data.resource_claim_name,
        resource_claim_template_name=data.resource_claim_template_name,
    )
