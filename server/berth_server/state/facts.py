"""What changed in the state, in the words of those who wait for it. The queue turns facts into activations.

A fact says only what may help or concern somebody; an observation that changes nothing of use makes none.
"""

from dataclasses import dataclass
from enum import Enum

from berth_server.state.candidate import PoolKey


class FactKind(Enum):
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


@dataclass(frozen=True, slots=True)
class Fact:
    """One change. `runtime` is empty when the whole namespace is concerned; `subject` is the UID of what changed."""

    kind: FactKind
    namespace: str
    runtime: str = ""
    subject: str = ""

    @staticmethod
    def of_pool(kind: FactKind, pool: PoolKey, subject: str) -> "Fact":
        """Return a fact about one pool."""
        return Fact(kind, pool.namespace, pool.runtime, subject)
