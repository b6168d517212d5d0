"""The tree as a whole: what makes it no tree at all, and the limits that the API server sets for a Workload.

A broken tree is a bug of the controller and raises. Limits are reported at the item's path, because what grows too
big is usually the user's: the number of roles, their names, the claims.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from berth.workload.builder.errors import BuilderError
from berth.workload.builder.item import SchedulingConfig, WorkloadItem
from berth.workload.errors import CauseType, FieldError, forbidden, invalid, too_many
from berth.workload.models import CompositePodGroupSchedulingPolicy, PodGroupSchedulingPolicy
from berth.workload.validation.claims import MAX_CLAIMS
from berth.workload.validation.formats import short_name
from berth.workload.validation.shapes import unique
from berth.workload.validation.templates import MAX_TEMPLATES
from berth.workload.validation.tree import MAX_COMPOSITE_LEVELS


class ItemAt(NamedTuple):
    """An item, its former self on update (None for one that is new or has moved), and its level, 1 for the root."""

    item: WorkloadItem
    old: WorkloadItem | None
    level: int


def walk_items(root: WorkloadItem, old: WorkloadItem | None = None, level: int = 1) -> Iterator[ItemAt]:
    """Every item, parents first. Old items are matched by name within one level, below the same parent."""
    yield ItemAt(root, old, level)
    old_children = {child.name: child for child in old.children} if old is not None else {}
    for child in root.children:
        yield from walk_items(child, old_children.get(child.name), level + 1)


def check_tree(root: WorkloadItem) -> None:
    """Refuse what cannot become templates.

    Raises:
        BuilderError: an item is None, has no name, has the name of another, or has blocks of the other sort.
    """
    for problem in _faults(root, set()):
        raise BuilderError(problem, root.path if root is not None else "")


def _faults(item: WorkloadItem | None, names: set[str]) -> Iterator[str]:
    if item is None:
        yield "an item must not be None"
        return
    if not item.name:
        yield "an item has no name"
    if item.name in names:
        yield f"two items are named {item.name!r}; names are unique in the whole tree"
    names.add(item.name)
    yield from _mixed_blocks(item)
    for child in item.children:
        yield from _faults(child, names)


def _mixed_blocks(item: WorkloadItem) -> Iterator[str]:
    """Constraints and modes have one type for both sorts, so only these two can be mixed up."""
    policy = item.input.policy.data
    if item.is_composite and isinstance(policy, PodGroupSchedulingPolicy):
        yield f"composite item {item.name!r} has the policy of a leaf"
    if item.is_composite and item.input.resource_claims.data:
        yield f"composite item {item.name!r} has resource claims"
    if not item.is_composite and isinstance(policy, CompositePodGroupSchedulingPolicy):
        yield f"leaf item {item.name!r} has the policy of a composite"


def limits(item: WorkloadItem, level: int, config: SchedulingConfig) -> Iterator[FieldError]:
    """What the API server would say of the compiled template's name, children, depth and claims."""
    yield from (
        invalid(item.path, item.name, f"as the name of a template, {problem}") for problem in short_name(item.name)
    )
    yield from _children(item, [child for child in item.children if not child.is_composite], "leaves")
    yield from _children(item, [child for child in item.children if child.is_composite], "composites")
    if item.is_composite and level == MAX_COMPOSITE_LEVELS + 1:
        yield invalid(item.path, item.name, "templates may be at most 4 levels deep, leaves included")
    yield from _claims(item, config)


def _children(item: WorkloadItem, children: Sequence[WorkloadItem], sort: str) -> Iterator[FieldError]:
    if len(children) > MAX_TEMPLATES:
        detail = f"{item.name!r} must have at most {MAX_TEMPLATES} children that are {sort}"
        yield FieldError(CauseType.TOO_MANY, item.path, detail, str(len(children)))


def _claims(item: WorkloadItem, config: SchedulingConfig) -> Iterator[FieldError]:
    path = item.at(item.input.resource_claims)
    if item.is_composite:
        if config.resource_claims:
            yield forbidden(path, "a group of groups has no resource claims")
    elif len(config.resource_claims) > MAX_CLAIMS:
        yield too_many(path, len(config.resource_claims), MAX_CLAIMS)
    else:
        yield from unique((claim.name for claim in config.resource_claims), path)
