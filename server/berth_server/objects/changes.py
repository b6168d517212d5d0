"""The kinds of change that somebody may wait for. The state tells of them, plugins name them as cures, the queue wakes.

Coarse on purpose: what is kept of them stays small, and no kind speaks of a single object.
"""

from enum import StrEnum


class ChangeKind(StrEnum):
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
