"""What a controller hands to the builder: a tree of items, each with defaults, the user's blocks, and callbacks.

An item says where in the controller's own API its blocks stand, so that an error names the field that the user wrote.
Nothing here is judged, and nothing is ever changed: resolution makes new configs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeAlias, TypeVar

from berth.workload.models import (
    CompositePodGroupSchedulingPolicy,
    DisruptionMode,
    GangSchedulingPolicy,
    PodGroupResourceClaim,
    PodGroupSchedulingPolicy,
    SchedulingConstraints,
)

DataT_co = TypeVar("DataT_co", covariant=True)

PolicyData: TypeAlias = PodGroupSchedulingPolicy | CompositePodGroupSchedulingPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulingConfig:
    """How one item is scheduled, in one shape for leaves and composites.

    Attributes:
        policy: None is basic. The count of a composite's gang stands in `gang.min_count` too.
        constraints: None is no constraint.
        disruption_mode: None is left to the API server, which means single.
        resource_claims: of a leaf.
        priority_class_name: the same in all items, else the API server refuses the Workload.
        preemption_policy: None is the policy of the class, if the builder knows the classes.
    """

    policy: PodGroupSchedulingPolicy | None = None
    constraints: SchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()
    priority_class_name: str = ""
    preemption_policy: str | None = None

    def with_min_count(self, count: int) -> "SchedulingConfig":
        """The config with `count` in its gang; the same config if it has no gang, or a count already."""
        if self.policy is None or self.policy.gang is None or self.policy.gang.min_count is not None:
            return self
        filled = GangSchedulingPolicy(min_count=count)
        return replace(self, policy=PodGroupSchedulingPolicy(basic=self.policy.basic, gang=filled))


Callback: TypeAlias = Callable[[SchedulingConfig], SchedulingConfig]


def default_min_count(count: int) -> Callback:
    """A callback that fills in the count of a gang that has none: `gang: {}` becomes a gang of `count`."""
    return lambda config: config.with_min_count(count)


@dataclass(frozen=True, slots=True)
class Block(Generic[DataT_co]):
    """One building block of the user, and where it stands below the item's path.

    Attributes:
        data: None if the user left it out.
        path: as in "schedulingPolicy"; if empty, errors are reported at the item itself.
    """

    data: DataT_co | None = None
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadInput:
    """The building blocks that the user may set on one item. A composite has no resource claims."""

    policy: Block[PolicyData] = Block()
    constraints: Block[SchedulingConstraints] = Block()
    disruption_mode: Block[DisruptionMode] = Block()
    resource_claims: Block[Sequence[PodGroupResourceClaim]] = Block()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadItem:
    """One node of the controller's workload: a leaf has Pods and no children, a composite has children.

    Attributes:
        name: becomes the name of the template, so a DNS label, unique in the tree.
        path: where the item stands in the controller's API, as in "spec.scheduling"; "" gives relative paths.
        default_config: for all that the user leaves out, block by block.
        input: what the user said.
        callbacks: run in order on the resolved config; each returns a config. They run in `validate` and again in
            `build_workload`, so they must give the same each time. None is skipped.
        children: leaves, composites or both.
    """

    name: str
    path: str = ""
    default_config: SchedulingConfig | None = None
    input: WorkloadInput = WorkloadInput()
    callbacks: Sequence[Callback | None] = ()
    children: Sequence["WorkloadItem"] = ()

    @property
    def is_composite(self) -> bool:
        """Whether it becomes a CompositePodGroupTemplate."""
        return len(self.children) > 0

    def at(self, block: Block[object]) -> str:
        """The full path of one of its blocks."""
        return ".".join(part for part in (self.path, block.path) if part)
