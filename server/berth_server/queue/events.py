"""What happens in the cluster, and which reasons it can cure.

Events are coarse on purpose: they name a kind and a place, never an object, so that what is kept of them stays small.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from berth_server.objects.changes import ChangeKind


class Scope(Enum):
    """Where an event must happen to be a cure."""

    POOL = "pool"
    """In the item's namespace and runtime."""
    NAMESPACE = "namespace"
    """In the item's namespace, whatever the runtime."""


@dataclass(frozen=True, slots=True)
class Cure:
    """An event of this kind, so near to the item, may end what made it unschedulable."""

    kind: ChangeKind
    scope: Scope


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """One change. An empty `runtime` concerns the whole namespace, and so every pool of it."""

    kind: ChangeKind
    namespace: str
    runtime: str = ""


ADDED: Final = Cure(ChangeKind.CANDIDATE_ADDED, Scope.POOL)
"""Cures every reason: a candidate that is new was not rejected yet."""
Cures = Mapping[str, frozenset[Cure]]
"""Per reason word, what can cure it; none: only a change of the item itself."""
