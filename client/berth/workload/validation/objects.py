"""The three kinds as wholes: which rule judges which field, on create, on update and on status update."""

from berth.workload.errors import required
from berth.workload.models import (
    CompositePodGroup,
    CompositePodGroupSpec,
    ObjectMeta,
    PodGroup,
    PodGroupSpec,
    Workload,
    WorkloadSpec,
)
from berth.workload.validation.case import Case, Errors
from berth.workload.validation.claims import claim_statuses, resource_claims
from berth.workload.validation.documented import all_needs_all_below, all_needs_gang
from berth.workload.validation.metadata import changed_metadata, new_metadata
from berth.workload.validation.placement import composite_constraints, disruption_mode, pod_group_constraints
from berth.workload.validation.policy import frozen_policy, scheduling_policy
from berth.workload.validation.priority import preemption_policy, priority, priority_class_name
from berth.workload.validation.references import controller_ref, parent, required_workload_ref, workload_ref
from berth.workload.validation.shapes import exactly_one
from berth.workload.validation.status import conditions
from berth.workload.validation.templates import composite_templates, leaf_templates
from berth.workload.validation.tree import template_tree


def workload(new: Workload, old: Workload | None, case: Case) -> Errors:
    """Workload: its fields, and the tree as a whole, which is judged again on every update."""
    yield from _metadata(new.metadata, old.metadata if old else None)
    was = old.spec if old else WorkloadSpec()
    if not case.same(new.spec, was):
        yield from _workload_spec(new.spec, was, case)
    yield from template_tree(new.spec, "spec")
    composites = new.spec.composite_pod_group_templates
    yield from all_needs_all_below(composites, "spec.compositePodGroupTemplates", case)


def _workload_spec(new: WorkloadSpec, old: WorkloadSpec, case: Case) -> Errors:
    """WorkloadSpec: exactly one of the two lists; an empty list counts as unset."""
    yield from exactly_one(_lists(new), _lists(old), "spec", case)
    yield from controller_ref(new.controller_ref, old.controller_ref, "spec.controllerRef", case)
    yield from leaf_templates(new.pod_group_templates, old.pod_group_templates, "spec.podGroupTemplates", case)
    yield from composite_templates(
        new.composite_pod_group_templates,
        old.composite_pod_group_templates,
        "spec.compositePodGroupTemplates",
        case,
        gated=True,
    )


def _lists(spec: WorkloadSpec) -> dict[str, bool]:
    return {
        "podGroupTemplates": bool(spec.pod_group_templates),
        "compositePodGroupTemplates": bool(spec.composite_pod_group_templates),
    }


def pod_group(new: PodGroup, old: PodGroup | None, case: Case) -> Errors:
    """PodGroup: only `gang.minCount` may change. A parent needs a workloadRef, on create."""
    yield from _metadata(new.metadata, old.metadata if old else None)
    spec, was = new.spec, old.spec if old else PodGroupSpec()
    if old is None and spec.parent_composite_pod_group_name is not None and spec.workload_ref is None:
        yield required("spec.workloadRef", "must be set when parentCompositePodGroupName is set")
    yield from parent(
        spec.parent_composite_pod_group_name,
        was.parent_composite_pod_group_name,
        "spec.parentCompositePodGroupName",
        case,
        gated=True,
    )
    yield from workload_ref(spec.workload_ref, was.workload_ref, "spec.workloadRef", case)
    policy = old.spec.scheduling_policy if old else None
    yield from scheduling_policy(spec.scheduling_policy, policy, "spec.schedulingPolicy", case)
    yield from pod_group_constraints(
        spec.scheduling_constraints, was.scheduling_constraints, "spec.schedulingConstraints", case
    )
    yield from resource_claims(spec.resource_claims, was.resource_claims, "spec.resourceClaims", case)
    yield from _common(spec, was, case)


def composite_pod_group(new: CompositePodGroup, old: CompositePodGroup | None, case: Case) -> Errors:
    """CompositePodGroup: nothing may change, the policy with its count included; workloadRef is required."""
    yield from _metadata(new.metadata, old.metadata if old else None)
    spec, was = new.spec, old.spec if old else CompositePodGroupSpec()
    yield from parent(
        spec.parent_composite_pod_group_name,
        was.parent_composite_pod_group_name,
        "spec.parentCompositePodGroupName",
        case,
        gated=False,
    )
    yield from required_workload_ref(spec.workload_ref, was.workload_ref, "spec.workloadRef", case)
    yield from frozen_policy(spec.scheduling_policy, was.scheduling_policy, "spec.schedulingPolicy", case)
    yield from composite_constraints(
        spec.scheduling_constraints, was.scheduling_constraints, "spec.schedulingConstraints", case
    )
    yield from _common(spec, was, case)


def pod_group_status(new: PodGroup, old: PodGroup) -> Errors:
    """PodGroup status: conditions, and claim statuses against the claims of the stored spec."""
    yield from changed_metadata(new.metadata, old.metadata)
    yield from conditions(new.status.conditions, "status.conditions")
    yield from claim_statuses(
        new.status.resource_claim_statuses,
        old.status.resource_claim_statuses,
        new.spec.resource_claims,
        "status.resourceClaimStatuses",
    )


def composite_pod_group_status(new: CompositePodGroup, old: CompositePodGroup) -> Errors:
    """CompositePodGroup status: conditions only."""
    yield from changed_metadata(new.metadata, old.metadata)
    yield from conditions(new.status.conditions, "status.conditions")


def _metadata(new: ObjectMeta, old: ObjectMeta | None) -> Errors:
    return new_metadata(new) if old is None else changed_metadata(new, old)


def _common(new: PodGroupSpec | CompositePodGroupSpec, old: PodGroupSpec | CompositePodGroupSpec, case: Case) -> Errors:
    yield from disruption_mode(new.disruption_mode, old.disruption_mode, "spec.disruptionMode", case)
    yield from priority_class_name(new.priority_class_name, old.priority_class_name, "spec.priorityClassName", case)
    yield from priority(new.priority, old.priority, "spec.priority", case)
    yield from preemption_policy(new.preemption_policy, old.preemption_policy, "spec.preemptionPolicy", case)
    yield from all_needs_gang(new.scheduling_policy, new.disruption_mode, "spec.disruptionMode", case)
