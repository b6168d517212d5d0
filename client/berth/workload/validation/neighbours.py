"""PriorityClass, and the link of a Pod to its group. Of a Pod nothing else is judged."""

from berth.workload.errors import forbidden, frozen, invalid, not_supported, required
from berth.workload.models import Pod, PodSpec, PriorityClass
from berth.workload.validation.case import Errors, formatted
from berth.workload.validation.formats import long_name
from berth.workload.validation.metadata import changed_metadata, new_metadata
from berth.workload.validation.priority import MAX_PRIORITY, PREEMPTION_POLICIES

_SYSTEM = "system-"


def pod_link(new: Pod, old: Pod | None) -> Errors:
    """Pod `spec.schedulingGroup`: frozen; one member; not beside eviction responders. Nothing is looked up."""
    yield from new_metadata(new.metadata) if old is None else changed_metadata(new.metadata, old.metadata)
    if old is not None and new.spec.scheduling_group != old.spec.scheduling_group:
        yield forbidden("spec", "pod updates may not change spec.schedulingGroup")
    if new.spec.scheduling_group is not None:
        yield from _scheduling_group(new.spec)


def _scheduling_group(spec: PodSpec) -> Errors:
    field = "spec.schedulingGroup.podGroupName"
    name = spec.scheduling_group.pod_group_name if spec.scheduling_group else None
    if name is None:
        yield invalid(field, None, "must specify one of: `podGroupName`")
    else:
        yield from formatted(name, field, long_name)
    if spec.eviction_responders:
        yield forbidden("spec.schedulingGroup", "may not be set when evictionResponders is set")


def priority_class(new: PriorityClass, old: PriorityClass | None) -> Errors:
    """PriorityClass: at most 1000000000, no `system-` names; value and policy may not change."""
    if old is not None:
        yield from changed_metadata(new.metadata, old.metadata)
        if new.value != old.value:
            yield forbidden("value", "may not be changed in an update")
        if new.preemption_policy != old.preemption_policy:
            yield frozen("preemptionPolicy")
        return
    yield from new_metadata(new.metadata)
    if new.name.startswith(_SYSTEM):
        yield forbidden("metadata.name", f"names with the prefix '{_SYSTEM}' are reserved for system use only")
    elif new.value > MAX_PRIORITY:
        yield forbidden("value", f"the highest value of a user's class is {MAX_PRIORITY}")
    if new.preemption_policy == "":
        yield required("preemptionPolicy")
    elif new.preemption_policy is not None and new.preemption_policy not in PREEMPTION_POLICIES:
        yield not_supported("preemptionPolicy", new.preemption_policy, PREEMPTION_POLICIES)
