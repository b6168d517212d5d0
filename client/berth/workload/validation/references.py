"""controllerRef, workloadRef and the parent: names of other objects. Nothing is looked up."""

from berth.workload.errors import forbidden, frozen, required
from berth.workload.gates import Gate
from berth.workload.models import TypedLocalObjectReference, WorkloadReference
from berth.workload.validation.case import Case, Errors, formatted, required_name
from berth.workload.validation.formats import long_name, path_segment, short_name


def controller_ref(
    new: TypedLocalObjectReference | None, old: TypedLocalObjectReference | None, path: str, case: Case
) -> Errors:
    """WorkloadSpec `controllerRef`: may not change; kind and name are path segments, an empty apiGroup is core."""
    if case.same(new, old):
        return
    if case.update:
        yield frozen(path)
    elif new is not None:
        if new.api_group:
            yield from formatted(new.api_group, f"{path}.apiGroup", long_name)
        yield from required_name(new.kind, f"{path}.kind", path_segment)
        yield from required_name(new.name, f"{path}.name", path_segment)


def workload_ref(new: WorkloadReference | None, old: WorkloadReference | None, path: str, case: Case) -> Errors:
    """`workloadRef`: may not change; both names are required."""
    if case.same(new, old):
        return
    if case.update:
        yield frozen(path)
    elif new is not None:
        yield from required_name(new.workload_name, f"{path}.workloadName", long_name)
        yield from required_name(new.template_name, f"{path}.templateName", short_name)


def required_workload_ref(
    new: WorkloadReference | None, old: WorkloadReference | None, path: str, case: Case
) -> Errors:
    """CompositePodGroup `workloadRef`: the same, and required; taking it away breaks both rules."""
    yield from workload_ref(new, old, path, case)
    if new is None and not case.same(new, old):
        yield required(path)


def parent(new: str | None, old: str | None, path: str, case: Case, *, gated: bool) -> Errors:
    """`parentCompositePodGroupName`: a long name, may not change; a group may even name itself.

    In a PodGroup it is `gated`: while the feature gate CompositePodGroup is closed, it may not be given.
    """
    if case.same(new, old):
        return
    closed = gated and Gate.COMPOSITE not in case.gates and new is not None
    if closed:
        yield forbidden(path, f"may not be set while the feature gate {Gate.COMPOSITE} is closed")
    if case.update:
        yield frozen(path)
    elif new is not None and not closed:
        yield from formatted(new, path, long_name)
