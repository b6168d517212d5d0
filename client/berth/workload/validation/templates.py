"""The templates of a Workload one by one, and the lists that hold them.

A template list is keyed by name: its items may change their order, but none may be added or removed, at any level.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from berth.workload.errors import forbidden, too_many
from berth.workload.gates import Gate
from berth.workload.models import CompositePodGroupTemplate, PodGroupTemplate
from berth.workload.validation.case import Case, Errors, required_name
from berth.workload.validation.claims import resource_claims
from berth.workload.validation.documented import all_needs_gang
from berth.workload.validation.formats import short_name
from berth.workload.validation.placement import composite_constraints, disruption_mode, leaf_template_constraints
from berth.workload.validation.policy import scheduling_policy
from berth.workload.validation.priority import preemption_policy, priority, priority_class_name
from berth.workload.validation.shapes import unique

MAX_TEMPLATES = 8

TemplateT = TypeVar("TemplateT", PodGroupTemplate, CompositePodGroupTemplate)


def leaf_templates(new: Sequence[PodGroupTemplate], old: Sequence[PodGroupTemplate], path: str, case: Case) -> Errors:
    """`podGroupTemplates`, of the Workload or of a composite template: at most 8."""
    yield from _templates(new, old, path, case, _leaf)


def composite_templates(
    new: Sequence[CompositePodGroupTemplate],
    old: Sequence[CompositePodGroupTemplate],
    path: str,
    case: Case,
    *,
    gated: bool = False,
) -> Errors:
    """`compositePodGroupTemplates`: at most 8. The list of the Workload is `gated`: closed, it may only stay or go."""
    closed = gated and Gate.COMPOSITE not in case.gates and len(new) > 0
    if closed and not case.same(new, old):
        yield forbidden(path, f"may not be set while the feature gate {Gate.COMPOSITE} is closed")
    yield from _templates(new, old, path, case, _composite, unread=closed)


def _templates(
    new: Sequence[TemplateT],
    old: Sequence[TemplateT],
    path: str,
    case: Case,
    check: Callable[[Any, Any, str, Case], Errors],
    *,
    unread: bool = False,
) -> Errors:
    """A list over its maximum, or with items added or removed, hides what is wrong inside it."""
    if case.same(new, old):
        return
    if len(new) > MAX_TEMPLATES:
        unread = True
        yield too_many(path, len(new), MAX_TEMPLATES)
    stored = {item.name: item for item in reversed(old)}
    if case.update:
        for error in _fixed_names(new, stored, path):
            unread = True
            yield error
    if unread:
        return
    yield from unique((item.name for item in new), path)
    for index, item in enumerate(new):
        if not case.same(item, stored.get(item.name)):
            yield from check(item, stored.get(item.name), f"{path}[{index}]", case)


def _fixed_names(new: Sequence[TemplateT], stored: dict[str, TemplateT], path: str) -> Errors:
    """No item added (reported at the item) or removed (reported at the list). A rename is both."""
    for index, item in enumerate(new):
        if item.name not in stored:
            yield forbidden(f"{path}[{index}]", "item may not be added")
    names = {item.name for item in new}
    for name in stored:
        if name not in names:
            yield forbidden(path, f'item "{name[:63]}" may not be removed')


def _leaf(new: PodGroupTemplate, old: PodGroupTemplate | None, path: str, case: Case) -> Errors:
    """PodGroupTemplate: everything but `gang.minCount` is for good."""
    was = old or PodGroupTemplate()
    yield from _common(new, old, was, path, case)
    yield from leaf_template_constraints(
        new.scheduling_constraints, was.scheduling_constraints, f"{path}.schedulingConstraints", case
    )
    yield from resource_claims(new.resource_claims, was.resource_claims, f"{path}.resourceClaims", case)


def _composite(new: CompositePodGroupTemplate, old: CompositePodGroupTemplate | None, path: str, case: Case) -> Errors:
    """CompositePodGroupTemplate: as a leaf, and its children in two lists."""
    was = old or CompositePodGroupTemplate()
    yield from _common(new, old, was, path, case)
    yield from composite_constraints(
        new.scheduling_constraints, was.scheduling_constraints, f"{path}.schedulingConstraints", case
    )
    yield from leaf_templates(new.pod_group_templates, was.pod_group_templates, f"{path}.podGroupTemplates", case)
    yield from composite_templates(
        new.composite_pod_group_templates,
        was.composite_pod_group_templates,
        f"{path}.compositePodGroupTemplates",
        case,
    )


def _common(new: TemplateT, old: TemplateT | None, was: TemplateT, path: str, case: Case) -> Errors:
    if old is None:
        yield from required_name(new.name, f"{path}.name", short_name)
    stored_policy = old.scheduling_policy if old else None
    yield from scheduling_policy(new.scheduling_policy, stored_policy, f"{path}.schedulingPolicy", case)
    yield from disruption_mode(new.disruption_mode, was.disruption_mode, f"{path}.disruptionMode", case)
    yield from priority_class_name(new.priority_class_name, was.priority_class_name, f"{path}.priorityClassName", case)
    yield from priority(new.priority, was.priority, f"{path}.priority", case)
    yield from preemption_policy(new.preemption_policy, was.preemption_policy, f"{path}.preemptionPolicy", case)
    yield from all_needs_gang(new.scheduling_policy, new.disruption_mode, f"{path}.disruptionMode", case)
