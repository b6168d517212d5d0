"""The controller's own API: a TrainingJob, with the building blocks of scheduling.k8s.io embedded in its spec.

It has two forms. Without roles it is a Job: `spec.parallelism`, `spec.scheduling`, `spec.template`, one group of Pods.
With `spec.roles`, each role is such a Job and `spec.scheduling` is about the whole, a group of groups. Both are read
into one tree of parts. Fields that the controller does not know are kept where they are and never judged.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

from berth.workload import (
    CompositePodGroupSchedulingPolicy,
    Condition,
    DisruptionMode,
    ObjectMeta,
    OwnerReference,
    PodGroupResourceClaim,
    PodGroupSchedulingPolicy,
    SchedulingConstraints,
    read_part,
)
from berth.workload.models import Int32, Model, Pod, Time
from examples.job_controller.naming import ROOT, template_name


class Scheduling(Model, frozen=True):
    """`scheduling` of what has Pods: the blocks of a PodGroup."""

    scheduling_policy: PodGroupSchedulingPolicy | None = None
    scheduling_constraints: SchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()


class GroupScheduling(Model, frozen=True):
    """`scheduling` of what has roles: the blocks of a CompositePodGroup."""

    scheduling_policy: CompositePodGroupSchedulingPolicy | None = None
    scheduling_constraints: SchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None


class Role(Model, frozen=True):
    """One role, or the whole spec of a job without roles. `template` is a Pod without a name."""

    name: str = ""
    parallelism: Int32 | None = None
    scheduling: Scheduling | None = None
    template: Pod = Pod()

    partial: ClassVar[bool] = True


class RolesSpec(Model, frozen=True):
    """The spec of a job with roles. All its groups and Pods have the one PriorityClass."""

    scheduling: GroupScheduling | None = None
    roles: tuple[Role, ...] = ()
    priority_class_name: str = ""

    partial: ClassVar[bool] = True


class JobStatus(Model, frozen=True):
    """What says whether a job ever started."""

    start_time: Time | None = None
    succeeded: Int32 = 0
    failed: Int32 = 0
    conditions: tuple[Condition, ...] = ()

    partial: ClassVar[bool] = True


AnyScheduling: TypeAlias = Scheduling | GroupScheduling

_NO_TEMPLATE = Pod()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A node of a job: the whole, or a role.

    Attributes:
        name: of the template that it becomes.
        path: of the object that has its `scheduling`, as in "spec.roles[0]".
        scheduling: None if the user left it out.
        parallelism: how many Pods; of a part with roles, how many roles.
        template: of its Pods.
        priority_class_name: of its group and its Pods.
        roles: empty for a part that has Pods.
    """

    name: str
    path: str
    scheduling: AnyScheduling | None = None
    parallelism: int = 1
    template: Pod = _NO_TEMPLATE
    priority_class_name: str = ""
    roles: tuple["Part", ...] = ()

    def leaves(self) -> Iterator["Part"]:
        """The parts that have Pods."""
        if not self.roles:
            yield self
        for role in self.roles:
            yield from role.leaves()


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job as the controller sees it."""

    api_version: str
    kind: str
    metadata: ObjectMeta
    status: JobStatus
    root: Part

    @property
    def owner_reference(self) -> OwnerReference:
        """The reference that makes the job the controller of an object (metav1.NewControllerRef)."""
        return OwnerReference(
            api_version=self.api_version,
            kind=self.kind,
            name=self.metadata.name,
            uid=self.metadata.uid,
            controller=True,
            block_owner_deletion=True,
        )


def read_job(body: Mapping[str, Any]) -> Job:
    """Read a job from its JSON.

    Raises:
        DecodeError: a value has the wrong type.
    """
    metadata = read_part(ObjectMeta, body.get("metadata") or {})
    spec = body.get("spec") or {}
    return Job(
        api_version=str(body.get("apiVersion") or "training.example.com/v1"),
        kind=str(body.get("kind") or "TrainingJob"),
        metadata=metadata,
        status=read_part(JobStatus, body.get("status") or {}),
        root=_with_roles(read_part(RolesSpec, spec)) if spec.get("roles") else _alone(read_part(Role, spec), metadata),
    )


def _alone(spec: Role, metadata: ObjectMeta) -> Part:
    return replace(_role(spec, "spec", spec.template.spec.priority_class_name), name=template_name(metadata.name))


def _with_roles(spec: RolesSpec) -> Part:
    roles = (_role(role, f"spec.roles[{index}]", spec.priority_class_name) for index, role in enumerate(spec.roles))
    return Part(
        name=ROOT,
        path="spec",
        scheduling=spec.scheduling,
        parallelism=len(spec.roles),
        priority_class_name=spec.priority_class_name,
        roles=tuple(roles),
    )


def _role(role: Role, path: str, priority_class_name: str) -> Part:
    return Part(
        name=role.name,
        path=path,
        scheduling=role.scheduling,
        parallelism=1 if role.parallelism is None else role.parallelism,
        template=role.template,
        priority_class_name=priority_class_name,
    )
