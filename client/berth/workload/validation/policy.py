"""schedulingPolicy: `basic` or `gang`, of leaves and of composites.

The member is chosen for good; only the count inside `gang` may change.
"""

from berth.workload.errors import frozen, invalid, required
from berth.workload.models import CompositePodGroupSchedulingPolicy, PodGroupSchedulingPolicy
from berth.workload.validation.case import Case, Errors
from berth.workload.validation.shapes import exactly_one

Policy = PodGroupSchedulingPolicy | CompositePodGroupSchedulingPolicy


def scheduling_policy(new: Policy, old: Policy | None, path: str, case: Case) -> Errors:
    """PodGroup and template `schedulingPolicy`: exactly one member, for good; a gang's count is at least 1."""
    if case.same(new, old):
        return
    yield from exactly_one(_members(new), _members(old) if old else None, path, case)
    if case.update and old is not None and new.basic != old.basic:
        yield frozen(f"{path}.basic")
    if case.update and old is not None and (new.gang is None) != (old.gang is None):
        yield frozen(f"{path}.gang")
    elif new.gang is not None:
        yield from _count(new, old, path, case)


def frozen_policy(new: Policy, old: Policy, path: str, case: Case) -> Errors:
    """CompositePodGroup `schedulingPolicy`: as of a template, but nothing in it may change; reported at the policy."""
    if not case.update:
        yield from scheduling_policy(new, None, path, case)
    elif new != old:
        yield frozen(path)


def _count(new: Policy, old: Policy | None, path: str, case: Case) -> Errors:
    """`minCount` / `minGroupCount`: an int32 of at least 1; 0 counts as missing."""
    name, count = min_count(new)
    _, stored = min_count(old) if old else (name, None)
    field = f"{path}.gang.{name}"
    if case.same(count or 0, stored or 0):
        return
    if case.update and name == "minGroupCount" and case.rules.frozen_min_group_count and old is not None:
        yield frozen(field)
    elif not count:
        yield required(field)
    elif count < 1:
        yield invalid(field, count, "must be greater than or equal to 1")


def min_count(policy: Policy) -> tuple[str, int | None]:
    """The JSON name and the value of a policy's count; None for basic, or when it is left out."""
    if isinstance(policy, PodGroupSchedulingPolicy):
        return "minCount", policy.gang.min_count if policy.gang else None
    return "minGroupCount", policy.gang.min_group_count if policy.gang else None


def _members(policy: Policy) -> dict[str, bool]:
    return {"basic": policy.basic is not None, "gang": policy.gang is not None}
