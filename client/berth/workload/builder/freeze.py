"""What may not change on update. The building blocks carry no freeze of their own: each embedding API decides.

Only the user's words are compared, old and new, because the old item's defaults and callbacks are not known.
"""

from collections.abc import Iterator

from berth.workload.builder.item import SchedulingConfig, WorkloadItem
from berth.workload.builder.options import Frozen
from berth.workload.builder.resolve import said
from berth.workload.models import PodGroupSchedulingPolicy


def changed(new: WorkloadItem, old: WorkloadItem) -> frozenset[Frozen]:
    """The parts in which two items of one name differ. An empty block equals one that is left out."""
    return frozenset(_changed(said(new.input), said(old.input), composite=new.is_composite))


def _changed(new: SchedulingConfig, old: SchedulingConfig, *, composite: bool) -> Iterator[Frozen]:
    if _variant(new.policy) != _variant(old.policy):
        yield Frozen.POLICY_VARIANT
    elif composite and new.policy != old.policy:
        yield Frozen.MIN_GROUP_COUNT
    if new.constraints != old.constraints:
        yield Frozen.CONSTRAINTS
    if new.disruption_mode != old.disruption_mode:
        yield Frozen.DISRUPTION_MODE
    if new.resource_claims != old.resource_claims:
        yield Frozen.RESOURCE_CLAIMS


def _variant(policy: PodGroupSchedulingPolicy | None) -> str | None:
    if policy is None:
        return None
    return "basic" if policy.gang is None else "gang"
