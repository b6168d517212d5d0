"""One pass over one job: find or make its Workload, then its groups, then its Pods.

The order matters. Groups refer to the Workload and Pods to their group; the API looks nothing up, so a Pod that came
first would wait, and a failure in between leaves a set that the next pass completes. Groups are made only for a job
that never started, because a running Pod cannot join one. Every error ends the pass, and the next one starts from
what is stored.
"""

import logging
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from berth.workload import CompositePodGroup, ObjectMeta, OwnerReference, PodGroup, PriorityClasses, Workload
from berth.workload.builder import Builder, BuildOptions, TemplatePlace, walk_templates
from berth.workload.models import Pod, PodSchedulingGroup
from examples.job_controller.client import Client
from examples.job_controller.counts import counts_of, with_count, with_counts
from examples.job_controller.discovery import (
    TEMPLATE_ANNOTATION,
    Management,
    controller_of,
    is_new,
    management_of,
    only,
    owned,
    workloads_of,
)
from examples.job_controller.groups import Group, kind_of, new_group
from examples.job_controller.job import Job, Part
from examples.job_controller.naming import group_name, pod_name
from examples.job_controller.scheduling import builder_of

LOG = logging.getLogger(__name__)

# Names of PodGroups by the name of the part whose Pods belong there. A part without one is scheduled Pod by Pod.
Links = Mapping[str, str]


class NotReadyError(Exception):
    """What the job depends on is not as it must be. Try again later; nothing was created that has to go."""


class Controller:
    """Makes the objects of jobs. It keeps nothing between passes."""

    def __init__(self, client: Client, classes: PriorityClasses | None = None) -> None:
        self._client = client
        self._classes = classes

    def reconcile(self, job: Job) -> None:
        """Bring the objects of one job to where its spec wants them.

        Raises:
            NotReadyError: try again later.
            ApiError: the API server refused something; try again later.
            BuilderError: the job cannot be compiled; an admission webhook should have refused it.
        """
        pods = owned(self._client.list(Pod, job.metadata.namespace), job)
        new = is_new(job, pods)
        links: Links = {}
        match management_of(job):
            case Management.WORKLOAD_AND_GROUPS:
                links = self._own_groups(job, new=new)
            case Management.POD_GROUP_ONLY:
                links = self._delegated_group(job, new=new)
        for part in job.root.leaves():
            self._create_pods(job, part, links.get(part.name), pods)

    def _own_groups(self, job: Job, *, new: bool) -> Links:
        compiled = builder_of(job, self._classes).build_workload()
        workload = self._workload(job, compiled, new=new)
        if workload is None:
            return {}
        groups = self._groups(job, workload, new=new)
        self._follow(workload, with_counts(workload, counts_of(compiled)))
        pod_groups = {name: group for name, group in groups.items() if isinstance(group, PodGroup)}
        for name, group in pod_groups.items():
            self._follow(group, with_count(group, counts_of(compiled).get(name)))
        return {name: group.metadata.name for name, group in pod_groups.items()}

    def _workload(self, job: Job, compiled: Workload, *, new: bool) -> Workload | None:
        """The job's Workload, found or made; None if the job does without."""
        found = owned(workloads_of(self._client.list(Workload, job.metadata.namespace), job.owner_reference), job)
        if not found and new:
            LOG.info("creating Workload %s/%s", compiled.metadata.namespace, compiled.metadata.name)
            return self._client.create(compiled)
        workload = only(found, "Workloads", job)
        if workload is not None and _names(workload) != _names(compiled):
            raise NotReadyError(f"Workload {workload.metadata.name} has the templates {', '.join(_names(workload))}")
        return workload

    def _groups(self, job: Job, workload: Workload, *, new: bool) -> dict[str, Group]:
        """The groups of the Workload by template, found or made. A template whose parent has no group gets none."""
        options = BuildOptions(owner=job.owner_reference, priority_classes=self._classes)
        builder = Builder.from_existing_workload(workload, options)
        stored = self._stored_groups(job, workload)
        groups: dict[str, Group] = {}
        for place in walk_templates(workload):
            name = place.template.name
            if place.parent is not None and place.parent not in groups:
                continue
            found = [group for group in stored if _is_of(group, place)]
            if not found and new:
                parent = groups[place.parent].metadata.name if place.parent is not None else None
                group = new_group(builder, place, group_name(workload.metadata.name, name), parent)
                groups[name] = self._create_group(group, _reference_to(workload))
            elif (group_found := only(found, f"groups of template {name}", job)) is not None:
                groups[name] = group_found
        return groups

    def _stored_groups(self, job: Job, workload: Workload) -> list[Group]:
        namespace, name = job.metadata.namespace, workload.metadata.name
        groups: list[Group] = [*owned(self._client.list(PodGroup, namespace), job)]
        if workload.spec.composite_pod_group_templates:
            groups += owned(self._client.list(CompositePodGroup, namespace), job)
        return [item for item in groups if item.spec.workload_ref and item.spec.workload_ref.workload_name == name]

    def _create_group(self, group: Group, *more_owners: OwnerReference) -> Group:
        """The job controls the group; the Workload owns it too, so that it goes when the Workload goes."""
        owners = (*group.metadata.owner_references, *more_owners)
        LOG.info("creating %s %s/%s", type(group).__name__, group.metadata.namespace, group.metadata.name)
        return self._client.create(replace(group, metadata=replace(group.metadata, owner_references=owners)))

    def _delegated_group(self, job: Job, *, new: bool) -> Links:
        """The one PodGroup that the controller above leaves to us; its Workload and its count are that controller's."""
        above = controller_of(job.metadata.owner_references)
        if above is None:
            return {}
        found = workloads_of(self._client.list(Workload, job.metadata.namespace), above)
        if not found:
            raise NotReadyError(f"there is no Workload of {above.kind} {above.name} yet")
        workload = only(found, f"Workloads of {above.kind} {above.name}", job)
        wanted = job.metadata.annotations[TEMPLATE_ANNOTATION]
        if workload is None or wanted not in {template.name for template in workload.spec.pod_group_templates}:
            LOG.warning("job %s/%s finds no template %s", job.metadata.namespace, job.metadata.name, wanted)
            return {}
        groups = [group for group in self._stored_groups(job, workload) if isinstance(group, PodGroup)]
        if not groups and new:
            options = BuildOptions(owner=job.owner_reference, priority_classes=self._classes)
            builder = Builder.from_existing_workload(workload, options)
            made = builder.new_pod_group(group_name(workload.metadata.name, f"{job.metadata.name}-{wanted}"), wanted)
            return {job.root.name: self._create_group(made).metadata.name}
        group = only(groups, f"PodGroups of Workload {workload.metadata.name}", job)
        if group is None:
            return {}
        self._follow(group, with_count(group, counts_of(workload).get(wanted)))
        return {job.root.name: group.metadata.name}

    def _follow(self, stored: Workload | PodGroup, wanted: Workload | PodGroup) -> None:
        """Store what changed. Made from the stored object, so it keeps what the API server filled in."""
        if wanted != stored:
            LOG.info("updating %s %s/%s", type(stored).__name__, stored.metadata.namespace, stored.metadata.name)
            self._client.replace(wanted)

    def _create_pods(self, job: Job, part: Part, group: str | None, pods: Sequence[Pod]) -> None:
        taken = {pod.metadata.name for pod in pods}
        names = (pod_name(job.metadata.name, part.name, index) for index in range(part.parallelism))
        for name in names:
            if name not in taken:
                self._client.create(_pod(job, part, name, group))


def _names(workload: Workload) -> list[str]:
    return sorted(place.template.name for place in walk_templates(workload))


def _is_of(group: Group, place: TemplatePlace) -> bool:
    reference = group.spec.workload_ref
    return (
        isinstance(group, kind_of(place)) and reference is not None and reference.template_name == place.template.name
    )


def _reference_to(workload: Workload) -> OwnerReference:
    """An owner that is not the controller, and that can be deleted without waiting for the group."""
    return OwnerReference(
        api_version="scheduling.k8s.io/v1beta1",
        kind="Workload",
        name=workload.metadata.name,
        uid=workload.metadata.uid,
    )


def _pod(job: Job, part: Part, name: str, group: str | None) -> Pod:
    template = part.template
    metadata = ObjectMeta(
        name=name,
        namespace=job.metadata.namespace,
        labels=template.metadata.labels,
        annotations=template.metadata.annotations,
        owner_references=(job.owner_reference,),
    )
    spec = template.spec
    if group is not None:
        spec = replace(spec, scheduling_group=PodSchedulingGroup(pod_group_name=group))
    if part.priority_class_name:
        spec = replace(spec, priority_class_name=part.priority_class_name)
    return replace(template, metadata=metadata, spec=spec)
