"""What an attempt came to. The queue moves the key by this alone."""

from dataclasses import dataclass
from math import inf
from typing import Final

RESERVED_FOR_OTHER: Final = "ReservedForOther"


@dataclass(frozen=True, slots=True)
class Forget:
    """Nothing is left to do: bound, already assigned, gone, or terminal and written so."""


@dataclass(frozen=True, slots=True)
class Unschedulable:
    """No candidate fits now. `reasons` holds at least one word, each of which the table of cures has."""

    reasons: tuple[str, ...]
    message: str

    def __post_init__(self) -> None:
        if not self.reasons:
            raise ValueError("an unschedulable item has a reason, or nothing could cure it")


@dataclass(frozen=True, slots=True)
class Held:
    """Only a change of the item itself (or of its group) can help: unsupported, or a member of a group."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class ReservedForOther:
    """Another owner holds a reservation of this item. Whoever ends it activates the key."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """The decision was lost to a newer state, at reserve or at bind."""


@dataclass(frozen=True, slots=True)
class RetryAt:
    """The item's own retry delay lasts until `until`, in monotonic seconds."""

    until: float


@dataclass(frozen=True, slots=True)
class Error:
    """A failure outside, a bug, or a lease that ended. Not tried before `not_before`, in monotonic seconds."""

    message: str = ""
    not_before: float = -inf


Outcome = Forget | Unschedulable | Held | ReservedForOther | Conflict | RetryAt | Error
