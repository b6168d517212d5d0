"""schedulingConstraints and disruptionMode: where a group may go and how it may be disturbed."""

from berth.workload.errors import FieldError, forbidden, frozen, too_many
from berth.workload.gates import Gate
from berth.workload.models import DisruptionMode, SchedulingConstraints
from berth.workload.validation.case import Case, Errors, required_name
from berth.workload.validation.formats import label_key
from berth.workload.validation.shapes import exactly_one

MAX_TOPOLOGY = 1

Constraints = SchedulingConstraints | None


def leaf_template_constraints(new: Constraints, old: Constraints, path: str, case: Case) -> Errors:
    """PodGroupTemplate `schedulingConstraints`: may not change; unknown while its gate is closed (KEP-5732)."""
    if case.same(new, old):
        return
    yield from _while_closed(new, path, case)
    if case.update:
        yield frozen(path)
    elif new is not None:
        yield from topology(new, path)


def pod_group_constraints(new: Constraints, old: Constraints, path: str, case: Case) -> Errors:
    """PodGroup `schedulingConstraints`: may not change while its gate is open; closed, it may only be taken away."""
    if case.same(new, old):
        return
    if Gate.TOPOLOGY not in case.gates:
        yield from _while_closed(new, path, case)
    elif case.update:
        yield frozen(path)
    elif new is not None:
        yield from topology(new, path)


def composite_constraints(new: Constraints, old: Constraints, path: str, case: Case) -> Errors:
    """Composite `schedulingConstraints`, of templates and groups: may not change. It has no gate of its own."""
    if case.same(new, old):
        return
    if case.update:
        yield frozen(path)
    elif new is not None:
        yield from topology(new, path)


def topology(new: SchedulingConstraints, path: str) -> Errors:
    """`topology`: at most one item, whose `key` is a label key. Over the maximum, items are not judged."""
    if len(new.topology) > MAX_TOPOLOGY:
        yield too_many(f"{path}.topology", len(new.topology), MAX_TOPOLOGY)
        return
    for index, item in enumerate(new.topology):
        yield from required_name(item.key, f"{path}.topology[{index}].key", label_key)


def disruption_mode(new: DisruptionMode | None, old: DisruptionMode | None, path: str, case: Case) -> Errors:
    """`disruptionMode`: may not change; if set, exactly one of `single` and `all`."""
    if case.same(new, old):
        return
    if case.update:
        yield frozen(path)
    elif new is not None:
        yield from exactly_one({"single": new.single is not None, "all": new.all is not None}, None, path, case)


def _while_closed(new: object, path: str, case: Case) -> list[FieldError]:
    if new is None or Gate.TOPOLOGY in case.gates:
        return []
    return [forbidden(path, f"may not be set while the feature gate {Gate.TOPOLOGY} is closed")]
