"""Rules over the whole tree of a Workload's templates, checked on create and on every update.

Unlike the rules of single fields they look into lists that are too long, and judge unchanged values again.
"""

from collections.abc import Iterator, Sequence

from berth.workload.errors import duplicate, invalid
from berth.workload.models import CompositePodGroupTemplate, PodGroupTemplate, WorkloadSpec
from berth.workload.validation.case import Errors

# WorkloadMaxTreeDepth is 4, the leaves included: a composite may stand on the levels 1 to 3.
MAX_COMPOSITE_LEVELS = 3

Composites = Sequence[CompositePodGroupTemplate]


def template_tree(spec: WorkloadSpec, path: str) -> Errors:
    """All rules of the tree."""
    composites = f"{path}.compositePodGroupTemplates"
    names = {leaf.name for leaf in spec.pod_group_templates}
    yield from _names_across_lists(spec.composite_pod_group_templates, composites, names)
    for index, item in enumerate(spec.composite_pod_group_templates):
        if not _fits(item, level=1):
            yield invalid(f"{composites}[{index}]", None, "templates may be at most 4 levels deep, leaves included")
    if len(set(priorities(spec))) > 1:
        yield invalid(path, None, "priority and priorityClassName must be the same in all templates")
    yield from _childless(spec.composite_pod_group_templates, composites)


def _names_across_lists(items: Composites, path: str, names: set[str]) -> Errors:
    """A name that another list has already (WorkloadSpec: names are unique within the Workload).

    A list of composites registers all its names before any of them is entered; a composite's leaves come before its
    composites. Twice in one list is another rule's business.
    """
    for index, item in enumerate(items):
        if item.name in names:
            yield duplicate(f"{path}[{index}].name", item.name)
    names.update(item.name for item in items)
    for index, item in enumerate(items):
        where = f"{path}[{index}]"
        for position, leaf in enumerate(item.pod_group_templates):
            if leaf.name in names:
                yield duplicate(f"{where}.podGroupTemplates[{position}].name", leaf.name)
        names.update(leaf.name for leaf in item.pod_group_templates)
        nested = f"{where}.compositePodGroupTemplates"
        yield from _names_across_lists(item.composite_pod_group_templates, nested, names)


def _fits(item: CompositePodGroupTemplate, level: int) -> bool:
    if level > MAX_COMPOSITE_LEVELS:
        return False
    return all(_fits(child, level + 1) for child in item.composite_pod_group_templates)


def priorities(spec: WorkloadSpec) -> Iterator[tuple[str, int | None]]:
    """Class and number of every template. Unset is not 0."""
    yield from (_priority(leaf) for leaf in spec.pod_group_templates)
    waiting = list(spec.composite_pod_group_templates)
    while waiting:
        item = waiting.pop()
        yield _priority(item)
        yield from (_priority(leaf) for leaf in item.pod_group_templates)
        waiting.extend(item.composite_pod_group_templates)


def _priority(item: PodGroupTemplate | CompositePodGroupTemplate) -> tuple[str, int | None]:
    return item.priority_class_name, item.priority


def _childless(items: Composites, path: str) -> Errors:
    """A composite needs at least one child of either sort."""
    for index, item in enumerate(items):
        where = f"{path}[{index}]"
        if not item.pod_group_templates and not item.composite_pod_group_templates:
            yield invalid(where, item.name, "must have at least one child template")
        yield from _childless(item.composite_pod_group_templates, f"{where}.compositePodGroupTemplates")
