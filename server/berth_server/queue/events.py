"""What happens in the cluster, and which reasons it can cure.

Events are coarse on purpose: they name a kind and a place, never an object, so that what is kept of them stays small.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final


class EventKind(StrEnum):
    """What kind of change."""

    CANDIDATE_ADDED = "candidate_added"
    CANDIDATE_REMOVED = "candidate_removed"
    CANDIDATE_AVAILABLE = "candidate_available"
    CANDIDATE_UNAVAILABLE = "candidate_unavailable"
    CANDIDATE_CAPACITY = "candidate_capacity"
    CAPACITY_RELEASED = "capacity_released"
    TARGET_ADDED = "target_added"
    TARGET_REMOVED = "target_removed"
    WORKSPACE_CHANGED = "workspace_changed"


class Scope(Enum):
    """Where an event must happen to be a cure."""

    POOL = "pool"
    """In the item's namespace and runtime."""
    NAMESPACE = "namespace"
    """In the item's namespace, whatever the runtime."""


@dataclass(frozen=True, slots=True)
class Cure:
    """An event of this kind, so near to the item, may end what made it unschedulable."""

    kind: EventKind
    scope: Scope


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """One change. An empty `runtime` concerns the whole namespace, and so every pool of it."""

    kind: EventKind
    namespace: str
    runtime: str = ""


ADDED: Final = Cure(EventKind.CANDIDATE_ADDED, Scope.POOL)
"""Cures every reason: a candidate that is new was not rejected yet."""
Cures = Mapping[str, frozenset[Cure]]
"""Per reason word, what can cure it; none: only a change of the item itself."""
