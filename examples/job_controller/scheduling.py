"""From a job to the builder's tree: which blocks stand where, what is the default, and who may choose what."""

from berth.workload import PriorityClasses, basic
from berth.workload.builder import (
    FROZEN,
    Block,
    Builder,
    BuildOptions,
    Frozen,
    ModeOption,
    PolicyOption,
    SchedulingConfig,
    WorkloadInput,
    WorkloadItem,
    default_min_count,
)
from examples.job_controller.job import AnyScheduling, GroupScheduling, Job, Part
from examples.job_controller.naming import workload_name


def builder_of(job: Job, classes: PriorityClasses | None = None) -> Builder:
    """A fresh builder for the job as it is now. With the cluster's classes, preemption policies are right too."""
    options = BuildOptions(
        name=workload_name(job.metadata.name, job.metadata.uid),
        namespace=job.metadata.namespace,
        owner=job.owner_reference,
        allowed_policies=frozenset(PolicyOption),
        allowed_disruption_modes=frozenset(ModeOption),
        frozen=FROZEN | {Frozen.MIN_GROUP_COUNT},  # a CompositePodGroup could not follow
        priority_classes=classes,
    )
    return Builder(item_of(job.root), options)


def item_of(part: Part) -> WorkloadItem:
    """Basic by default; a gang without a count means all Pods, or all roles."""
    return WorkloadItem(
        name=part.name,
        path=f"{part.path}.scheduling",
        default_config=SchedulingConfig(policy=basic(), priority_class_name=part.priority_class_name),
        input=input_of(part.scheduling),
        callbacks=[default_min_count(max(1, part.parallelism))],  # a suspended job has 0, a gang at least 1
        children=[item_of(role) for role in part.roles],
    )


def input_of(scheduling: AnyScheduling | None) -> WorkloadInput:
    """The user's blocks, each with its field."""
    said = scheduling or GroupScheduling()
    claims = said.resource_claims if not isinstance(said, GroupScheduling) else ()
    return WorkloadInput(
        policy=Block(said.scheduling_policy, "schedulingPolicy"),
        constraints=Block(said.scheduling_constraints, "schedulingConstraints"),
        disruption_mode=Block(said.disruption_mode, "disruptionMode"),
        resource_claims=Block(claims, "resourceClaims"),
    )
