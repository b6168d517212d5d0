"""What a controller decides once for all its objects: identity, owner, what its users may choose, what may change."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from berth.workload.admission import PriorityClasses
from berth.workload.models import OwnerReference


class PolicyOption(StrEnum):
    """A scheduling policy that a controller can allow."""

    BASIC = "basic"
    GANG = "gang"


class ModeOption(StrEnum):
    """A disruption mode that a controller can allow."""

    SINGLE = "single"
    ALL = "all"


class Frozen(StrEnum):
    """A part of an item that may not change after creation. Setting, unsetting and reordering are changes."""

    POLICY_VARIANT = "policyVariant"
    CONSTRAINTS = "constraints"
    DISRUPTION_MODE = "disruptionMode"
    RESOURCE_CLAIMS = "resourceClaims"
    # For controllers that make CompositePodGroups: those never take another count.
    MIN_GROUP_COUNT = "minGroupCount"


# What the API server freezes in the templates that come out. `gang.minCount` stays open.
FROZEN: frozenset[Frozen] = frozenset(Frozen) - {Frozen.MIN_GROUP_COUNT}


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    """The identity of the Workload that is built, and the rules of the controller that builds it.

    Attributes:
        name: of the Workload.
        namespace: of the Workload and its groups.
        owner: what the Workload and its groups belong to; a Workload is never built without. It is written as given:
            set `controller=True` for objects that the controller wants to find again as its own.
        allowed_policies: what the controller supports. Empty allows nothing.
        allowed_disruption_modes: the same for modes.
        declarative_validation: whether `validate` judges the structure of the blocks. False where the controller's own
            API has done so already; everything else is checked all the same.
        frozen: what `validate` refuses to see changed on update.
        priority_classes: of the cluster, if known: then templates get the preemption policy of their class.
    """

    name: str = ""
    namespace: str = ""
    owner: OwnerReference | None = None
    allowed_policies: Collection[PolicyOption] = frozenset()
    allowed_disruption_modes: Collection[ModeOption] = frozenset()
    declarative_validation: bool = True
    frozen: Collection[Frozen] = FROZEN
    priority_classes: PriorityClasses | None = None
