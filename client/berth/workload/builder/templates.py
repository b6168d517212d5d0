"""Where in a Workload each template stands, nested ones included, and the groups that are made from them.

A group is a self-contained copy: later changes of the template do not reach it. Models are frozen, so copying a field
is sharing it.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

from berth.workload.admission import PriorityClasses
from berth.workload.builder.errors import BuilderError
from berth.workload.builder.preemption import agreed_policy
from berth.workload.models import (
    CompositePodGroup,
    CompositePodGroupSpec,
    CompositePodGroupTemplate,
    ObjectMeta,
    PodGroup,
    PodGroupSpec,
    PodGroupTemplate,
    Workload,
    WorkloadReference,
)

AnyTemplate: TypeAlias = PodGroupTemplate | CompositePodGroupTemplate
TemplateT = TypeVar("TemplateT", PodGroupTemplate, CompositePodGroupTemplate)


class TemplatePlace(NamedTuple):
    """A template, and the name of the composite template that it stands in; None for one at the top."""

    template: AnyTemplate
    parent: str | None


def walk_templates(workload: Workload) -> Iterator[TemplatePlace]:
    """Every template of a Workload, parents before children: the order in which to create groups."""
    spec = workload.spec
    yield from _walk(spec.pod_group_templates, spec.composite_pod_group_templates, None)


def _walk(
    leaves: Sequence[PodGroupTemplate], composites: Sequence[CompositePodGroupTemplate], parent: str | None
) -> Iterator[TemplatePlace]:
    for leaf in leaves:
        yield TemplatePlace(leaf, parent)
    for node in composites:
        yield TemplatePlace(node, parent)
        yield from _walk(node.pod_group_templates, node.composite_pod_group_templates, node.name)


def find_template(workload: Workload, kind: type[TemplateT], name: str) -> TemplateT:
    """The template of that sort and name, at any level.

    Raises:
        BuilderError: there is none; the message lists those that there are.
    """
    found = {place.template.name: place.template for place in walk_templates(workload) if type(place.template) is kind}
    template = found.get(name)
    if not isinstance(template, kind):
        known = ", ".join(found) or "none"
        raise BuilderError(f"Workload {workload.metadata.name!r} has no {kind.__name__} {name!r}; it has {known}")
    return template


def pod_group(
    workload: Workload,
    template: PodGroupTemplate,
    metadata: ObjectMeta,
    parent: str | None,
    classes: PriorityClasses | None,
) -> PodGroup:
    """The PodGroup of a leaf template.

    Raises:
        BuilderError: the template contradicts its PriorityClass.
    """
    spec = PodGroupSpec(
        parent_composite_pod_group_name=parent,
        workload_ref=WorkloadReference(workload_name=workload.metadata.name, template_name=template.name),
        scheduling_policy=template.scheduling_policy,
        scheduling_constraints=template.scheduling_constraints,
        resource_claims=template.resource_claims,
        disruption_mode=template.disruption_mode,
        priority_class_name=template.priority_class_name,
        priority=template.priority,
        preemption_policy=agreed_policy(template.priority_class_name, template.preemption_policy, classes),
    )
    return PodGroup(metadata=metadata, spec=spec)


def composite_pod_group(
    workload: Workload,
    template: CompositePodGroupTemplate,
    metadata: ObjectMeta,
    parent: str | None,
    classes: PriorityClasses | None,
) -> CompositePodGroup:
    """The CompositePodGroup of a composite template.

    Raises:
        BuilderError: the template contradicts its PriorityClass.
    """
    spec = CompositePodGroupSpec(
        parent_composite_pod_group_name=parent,
        workload_ref=WorkloadReference(workload_name=workload.metadata.name, template_name=template.name),
        scheduling_policy=template.scheduling_policy,
        scheduling_constraints=template.scheduling_constraints,
        disruption_mode=template.disruption_mode,
        priority_class_name=template.priority_class_name,
        priority=template.priority,
        preemption_policy=agreed_policy(template.priority_class_name, template.preemption_policy, classes),
    )
    return CompositePodGroup(metadata=metadata, spec=spec)
