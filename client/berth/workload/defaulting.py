"""What the API server fills in while it decodes, before admission. Templates get nothing."""

from msgspec.structs import replace

from berth.workload.gates import Gate
from berth.workload.models import (
    AnyObject,
    CompositePodGroup,
    DisruptionMode,
    Empty,
    Pod,
    PodGroup,
    PriorityClass,
    Workload,
)
from berth.workload.validation.priority import PREEMPT_LOWER_PRIORITY

_SINGLE = DisruptionMode(single=Empty())


def default(new: AnyObject, gates: frozenset[Gate]) -> AnyObject:
    """Fill in what is unset: in groups `disruptionMode: {single: {}}` and, its gate open, `PreemptLowerPriority`.

    Decoding an update and a stored object do the same, so leaving these two fields out of an update is no change as
    long as the stored values are the defaults.
    """
    if isinstance(new, Workload | Pod):
        return new
    if isinstance(new, PriorityClass):
        policy = PREEMPT_LOWER_PRIORITY if new.preemption_policy is None else new.preemption_policy
        return replace(new, preemption_policy=policy)
    filled: dict[str, object] = {}
    if new.spec.disruption_mode is None:
        filled["disruption_mode"] = _SINGLE
    if new.spec.preemption_policy is None and Gate.PREEMPTION_POLICY in gates:
        filled["preemption_policy"] = PREEMPT_LOWER_PRIORITY
    return _with_spec(new, filled)


def _with_spec(group: PodGroup | CompositePodGroup, filled: dict[str, object]) -> PodGroup | CompositePodGroup:
    if isinstance(group, PodGroup):
        return replace(group, spec=replace(group.spec, **filled))
    return replace(group, spec=replace(group.spec, **filled))
