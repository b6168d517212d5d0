"""Checks that do not depend on what is checked: one of several members, no key twice."""

from collections.abc import Iterable

from berth.workload.errors import duplicate, invalid
from berth.workload.validation.case import Case, Errors


def exactly_one(new: dict[str, bool], old: dict[str, bool] | None, path: str, case: Case) -> Errors:
    """Exactly one member of a union is set (`+k8s:unionMember`). Judged again only when the members change.

    Args:
        new: for each member, whether it is set.
        old: the same of the stored union, if there is one.
        path: of the union, where the report goes.
        case: the request.
    """
    if case.update and new == old:
        return
    chosen = [name for name, is_set in new.items() if is_set]
    if len(chosen) != 1:
        members = ", ".join(f"`{name}`" for name in new)
        yield invalid(path, ", ".join(chosen) if chosen else None, f"must specify exactly one of: {members}")


def unique(keys: Iterable[str], path: str) -> Errors:
    """No key of a list (`+k8s:listMapKey`) twice; reported at each later item. Empty keys are equal to each other."""
    seen: set[str] = set()
    for index, key in enumerate(keys):
        if key in seen:
            yield duplicate(f"{path}[{index}]", key)
        seen.add(key)
