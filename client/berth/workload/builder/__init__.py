"""workloadbuilder in Python: from the building blocks in a controller's own API to Workload, groups and errors.

    from berth.workload import gang, OwnerReference
    from berth.workload.builder import (
        Block, Builder, BuildOptions, PolicyOption, ModeOption, WorkloadInput, WorkloadItem, default_min_count,
    )

    item = WorkloadItem(
        name="workers",
        path="spec.scheduling",
        input=WorkloadInput(policy=Block(job.scheduling_policy, "schedulingPolicy")),
        callbacks=[default_min_count(job.parallelism)],
    )
    options = BuildOptions(
        name="training", namespace="ml", owner=job.owner_reference,
        allowed_policies={PolicyOption.BASIC, PolicyOption.GANG}, allowed_disruption_modes={ModeOption.SINGLE},
    )
    builder = Builder(item, options)
    errors = builder.validate()                                # each names the field that the user wrote
    workload = builder.build_workload()                        # create this first,
    group = builder.new_pod_group("training-workers", "workers")  # then the groups, parents first, then Pods

It follows Kubernetes' Go library k8s.io/component-helpers/scheduling/schedulingv1/workloadbuilder (v0.37); the guide
for controller authors lists where and why it differs.
"""

from berth.workload.builder.build import Builder
from berth.workload.builder.errors import BuilderError
from berth.workload.builder.item import (
    Block,
    Callback,
    SchedulingConfig,
    WorkloadInput,
    WorkloadItem,
    default_min_count,
)
from berth.workload.builder.options import FROZEN, BuildOptions, Frozen, ModeOption, PolicyOption
from berth.workload.builder.resolve import resolve
from berth.workload.builder.templates import TemplatePlace, walk_templates

__all__ = [
    "FROZEN",
    "Block",
    "BuildOptions",
    "Builder",
    "BuilderError",
    "Callback",
    "Frozen",
    "ModeOption",
    "PolicyOption",
    "SchedulingConfig",
    "TemplatePlace",
    "WorkloadInput",
    "WorkloadItem",
    "default_min_count",
    "resolve",
    "walk_templates",
]
