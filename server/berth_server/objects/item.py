"""What is placed, free of the shape of its manifest. Plugins, queue and groups see Items, never a Run or JSON.

Nothing here judges whether an Item may be placed now: that needs clocks and reservations.
"""

from dataclasses import dataclass, field
from enum import Enum

from berth_server.objects.runspec import ParsedSpec


class Stage(Enum):
    """What `status.phase` means for placement."""

    PENDING = "pending"
    ACTIVE = "active"
    TERMINAL = "terminal"
    UNKNOWN = "unknown"
    """A phase of a newer version. It holds capacity if the item is assigned, and is never planned."""


_STAGE_OF_PHASE = {
    "": Stage.PENDING,
    "Pending": Stage.PENDING,
    "Scheduled": Stage.ACTIVE,
    "Running": Stage.ACTIVE,
    "Ready": Stage.ACTIVE,
    "Succeeded": Stage.TERMINAL,
    "Failed": Stage.TERMINAL,
    "Timeout": Stage.TERMINAL,
    "Cancelled": Stage.TERMINAL,
}


@dataclass(frozen=True, slots=True)
class Item:
    """A Run as last observed. Identity is `uid`; `labels` must not be changed.

    `arrival`: creationTimestamp in wall microseconds. `retry_from`: transition time of condition Running=False in wall
    microseconds, None unless it ended before and waits to be retried. `retry_seen`: when that was first seen here, in
    monotonic seconds. `link`: the PodGroup that it names, None if none. `generation`: of its spec, None if not told.
    """

    uid: str
    namespace: str
    name: str
    version: int
    spec: ParsedSpec
    labels: dict[str, str]
    phase: str = ""
    attempt: int = 1
    arrival: int = 0
    terminating: bool = False
    assigned_name: str = ""
    assigned_uid: str = ""
    retry_from: int | None = None
    retry_seen: float = field(default=0.0, compare=False)
    link: str | None = None
    message: str = ""
    conditions: bytes = field(default=b"", repr=False)
    generation: int | None = None

    @property
    def stage(self) -> Stage:
        """What its phase means for placement."""
        return _STAGE_OF_PHASE.get(self.phase, Stage.UNKNOWN)

    @property
    def assigned(self) -> bool:
        """It names a candidate, by UID or (written by another scheduler) by name alone."""
        return bool(self.assigned_uid or self.assigned_name)

    @property
    def holds_capacity(self) -> bool:
        """Whether its requests count on the candidate that it names."""
        return self.assigned and self.stage not in (Stage.PENDING, Stage.TERMINAL)
