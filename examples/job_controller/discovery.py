"""Which objects are the job's own, and which of them the controller manages at all.

An object is the job's own if the job's UID is its controller owner. Names and references alone say nothing: users may
make Workloads and groups of their own that name the job, and those are never touched.
"""

import logging
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TypeVar

from berth.workload import OwnerReference, TypedLocalObjectReference, Workload
from berth.workload.models import Pod
from examples.job_controller.client import AnyObject
from examples.job_controller.job import Job

LOG = logging.getLogger(__name__)

# A parent that made the Workload itself says with this annotation: make the PodGroup of this template.
TEMPLATE_ANNOTATION = "scheduling.k8s.io/group-template-name"

OwnedT = TypeVar("OwnedT", bound=AnyObject)


class Management(Enum):
    """What the controller makes for a job."""

    NOTHING = "nothing"
    WORKLOAD_AND_GROUPS = "workload and groups"
    POD_GROUP_ONLY = "pod group only"


def management_of(job: Job) -> Management:
    """All for a job without a controller of its own; one PodGroup where the controller above says so; else nothing.

    Pods that are linked to a group already belong to whoever made that group.
    """
    if any(part.template.spec.scheduling_group is not None for part in job.root.leaves()):
        return Management.NOTHING
    if controller_of(job.metadata.owner_references) is None:
        return Management.WORKLOAD_AND_GROUPS
    if TEMPLATE_ANNOTATION in job.metadata.annotations and not job.root.roles:
        return Management.POD_GROUP_ONLY
    return Management.NOTHING


def is_new(job: Job, pods: Sequence[Pod]) -> bool:
    """Whether the job never started. Only then groups are made for it; later, what is there is used.

    Each sign has its gap: Pods may be collected, startTime goes on suspension, the counters stay.
    """
    status = job.status
    suspended = any(condition.type == "Suspended" for condition in status.conditions)
    return not (pods or status.start_time or status.succeeded or status.failed or suspended)


def controller_of(owners: Iterable[OwnerReference]) -> OwnerReference | None:
    """The owner that is the controller, if there is one."""
    return next((owner for owner in owners if owner.controller), None)


def owned(objects: Iterable[OwnedT], job: Job) -> list[OwnedT]:
    """The objects whose controller owner is the job."""
    return [
        item
        for item in objects
        if (owner := controller_of(item.metadata.owner_references)) is not None and owner.uid == job.metadata.uid
    ]


def workloads_of(workloads: Iterable[Workload], owner: OwnerReference) -> list[Workload]:
    """The Workloads whose controllerRef names the owner."""
    group, _, _ = owner.api_version.rpartition("/")
    wanted = TypedLocalObjectReference(api_group=group, kind=owner.kind, name=owner.name)
    return [item for item in workloads if item.spec.controller_ref == wanted]


def only(found: Sequence[OwnedT], what: str, job: Job) -> OwnedT | None:
    """The one that was found. Of several, none: guessing could tie Pods to the wrong group, so they go without one."""
    if len(found) > 1:
        LOG.warning("job %s/%s has %d of %s", job.metadata.namespace, job.metadata.name, len(found), what)
    return found[0] if len(found) == 1 else None
