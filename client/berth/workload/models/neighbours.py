"""The two kinds of other groups that these rules touch: PriorityClass, and the link of a Pod to its group.

Of a Pod only what the rules read is typed. The rest is kept as it is and never judged.
"""

from typing import Any, ClassVar, TypeAlias

from berth.workload.models.groups import CompositePodGroup, PodGroup
from berth.workload.models.meta import ObjectMeta
from berth.workload.models.model import Int32, Model
from berth.workload.models.workloads import Workload


class PriorityClass(Model, frozen=True):
    """scheduling.k8s.io/v1 PriorityClass: the number and the preemption policy behind a name."""

    metadata: ObjectMeta = ObjectMeta()
    value: Int32 = 0
    global_default: bool = False
    description: str = ""
    preemption_policy: str | None = None

    served: ClassVar[frozenset[str]] = frozenset({"value"})

    @property
    def name(self) -> str:
        """The name that groups and Pods use."""
        return self.metadata.name


class PodSchedulingGroup(Model, frozen=True):
    """The group of a Pod, in the Pod's namespace; a leaf, and it may not exist yet."""

    pod_group_name: str | None = None


class PodSpec(Model, frozen=True):
    """The fields of a Pod that have to do with groups."""

    scheduling_group: PodSchedulingGroup | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: str | None = None
    eviction_responders: tuple[Any, ...] = ()

    partial: ClassVar[bool] = True


class Pod(Model, frozen=True):
    """A v1 Pod, as far as its group goes."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()

    partial: ClassVar[bool] = True


AnyObject: TypeAlias = Workload | PodGroup | CompositePodGroup | Pod | PriorityClass
