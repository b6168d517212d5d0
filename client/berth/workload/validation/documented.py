"""Rules that Kubernetes documents for `disruptionMode: all` and no API server of v1.37 checks; each has its switch.

The third rule of this sort, the frozen `minGroupCount`, stands with the policy it is about.
"""

from collections.abc import Container, Iterator, Sequence

from berth.workload.errors import invalid
from berth.workload.models import CompositePodGroupTemplate, DisruptionMode, PodGroupTemplate, WorkloadSpec
from berth.workload.validation.case import Case, Errors
from berth.workload.validation.policy import Policy
from berth.workload.validation.tree import priorities


def all_needs_gang(policy: Policy, mode: DisruptionMode | None, path: str, case: Case) -> Errors:
    """Mode `all` needs the policy `gang` (documentation of disruption modes; Job refuses it too). On create."""
    if (
        case.rules.all_needs_gang
        and not case.update
        and _is_all(mode)
        and policy.gang is None
        and policy.basic is not None
    ):
        yield invalid(path, "all", "needs the policy `gang`")


def all_needs_all_below(templates: Sequence[CompositePodGroupTemplate], path: str, case: Case) -> Errors:
    """Below a composite template of mode `all`, every template has mode `all` (KEP-6012). On create."""
    if case.rules.all_needs_all_below and not case.update:
        for index, item in enumerate(templates):
            yield from _below(item, f"{path}[{index}]", under_all=False)


def _below(item: CompositePodGroupTemplate, path: str, *, under_all: bool) -> Errors:
    if under_all:
        yield from _must_be_all(item, path)
    under_all = under_all or _is_all(item.disruption_mode)
    if under_all:
        for index, leaf in enumerate(item.pod_group_templates):
            yield from _must_be_all(leaf, f"{path}.podGroupTemplates[{index}]")
    for index, child in enumerate(item.composite_pod_group_templates):
        yield from _below(child, f"{path}.compositePodGroupTemplates[{index}]", under_all=under_all)


def _must_be_all(item: PodGroupTemplate | CompositePodGroupTemplate, path: str) -> Errors:
    mode = item.disruption_mode
    if mode is None or (mode.single is not None and mode.all is None):  # a broken union is reported already
        yield invalid(f"{path}.disruptionMode", "single" if mode else None, "must be `all`, as in a template above")


def _is_all(mode: DisruptionMode | None) -> bool:
    return mode is not None and mode.all is not None and mode.single is None


def unknown_classes(spec: WorkloadSpec, known: Container[str]) -> Iterator[str]:
    """A warning for each PriorityClass that a template names and that is not there; its groups will be refused."""
    for name in dict.fromkeys(name for name, _ in priorities(spec)):
        if name and name not in known:
            yield f'spec: a template names the PriorityClass "{name[:253]}", which does not exist'
