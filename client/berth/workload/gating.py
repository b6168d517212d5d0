"""What closed feature gates take out of an object before it is judged, silently, as the API server's strategies do.

On update a field stays if the stored object uses it: then validation says what may happen to it. A leaf template is
compared with the stored one *at the same place* of its list, a composite template with the stored one *of the same
name*; both are what the API server does.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from berth.workload.gates import Gate
from berth.workload.models import (
    AnyObject,
    CompositePodGroup,
    CompositePodGroupTemplate,
    Model,
    Pod,
    PodGroup,
    PodGroupTemplate,
    Workload,
    WorkloadSpec,
)

ModelT = TypeVar("ModelT", bound=Model)
ParentT = TypeVar("ParentT", WorkloadSpec, CompositePodGroupTemplate)
Gates = frozenset[Gate]

# Which gate hides which field, wherever the field occurs.
_GATED = {
    "scheduling_constraints": Gate.TOPOLOGY,
    "resource_claims": Gate.RESOURCE_CLAIMS,
    "preemption_policy": Gate.PREEMPTION_POLICY,
    "parent_composite_pod_group_name": Gate.COMPOSITE,
    "composite_pod_group_templates": Gate.COMPOSITE,
    "scheduling_group": Gate.GENERIC_WORKLOAD,
    "eviction_responders": Gate.EVICTION_REQUESTS,
}
_LEAF = ("scheduling_constraints", "resource_claims", "preemption_policy")
_GROUP = (*_LEAF, "parent_composite_pod_group_name")
_POD = ("scheduling_group", "eviction_responders")


def drop_hidden(new: AnyObject, old: AnyObject | None, gates: Gates) -> AnyObject:
    """Take out the fields of closed gates that the stored object, of the same kind, does not use."""
    match new:
        case Workload():
            return replace(new, spec=_workload_spec(new.spec, old.spec if isinstance(old, Workload) else None, gates))
        case PodGroup():
            return replace(new, spec=_drop(new.spec, old.spec if isinstance(old, PodGroup) else None, _GROUP, gates))
        case CompositePodGroup():
            was = old.spec if isinstance(old, CompositePodGroup) else None
            return replace(new, spec=_drop(new.spec, was, ("preemption_policy",), gates))
        case Pod():
            return replace(new, spec=_drop(new.spec, old.spec if isinstance(old, Pod) else None, _POD, gates))
    return new


def drop_hidden_status(new: PodGroup, gates: Gates) -> PodGroup:
    """Take out claim statuses while the claims' gate is closed, unless the group has claims."""
    if Gate.RESOURCE_CLAIMS in gates or new.spec.resource_claims:
        return new
    return replace(new, status=replace(new.status, resource_claim_statuses=()))


def _workload_spec(new: WorkloadSpec, old: WorkloadSpec | None, gates: Gates) -> WorkloadSpec:
    return _children(_drop(new, old, ("composite_pod_group_templates",), gates), old, gates)


def _children(new: ParentT, old: ParentT | None, gates: Gates) -> ParentT:
    return replace(
        new,
        pod_group_templates=_leaves(new.pod_group_templates, old.pod_group_templates if old else (), gates),
        composite_pod_group_templates=_composites(
            new.composite_pod_group_templates, old.composite_pod_group_templates if old else (), gates
        ),
    )


def _leaves(
    new: Sequence[PodGroupTemplate], old: Sequence[PodGroupTemplate], gates: Gates
) -> tuple[PodGroupTemplate, ...]:
    return tuple(_drop(item, old[index] if index < len(old) else None, _LEAF, gates) for index, item in enumerate(new))


def _composites(
    new: Sequence[CompositePodGroupTemplate], old: Sequence[CompositePodGroupTemplate], gates: Gates
) -> tuple[CompositePodGroupTemplate, ...]:
    stored = {item.name: item for item in old}
    return tuple(_composite(item, stored.get(item.name), gates) for item in new)


def _composite(
    new: CompositePodGroupTemplate, old: CompositePodGroupTemplate | None, gates: Gates
) -> CompositePodGroupTemplate:
    return _children(_drop(new, old, ("preemption_policy", "composite_pod_group_templates"), gates), old, gates)


def _drop(new: ModelT, old: ModelT | None, names: Sequence[str], gates: Gates) -> ModelT:
    gone: dict[str, Any] = {}
    for name in names:
        unset = () if isinstance(getattr(new, name), tuple) else None
        if _GATED[name] not in gates and (old is None or getattr(old, name) == unset):
            gone[name] = unset
    return replace(new, **gone) if gone else new
