"""What can be asked, as plain values: the requests of the gRPC API without protobuf. Checked where they are decoded."""

from dataclasses import dataclass, field
from enum import Enum

from berth_server.placement.failures import PlacementError, Reason


class Consistency(Enum):
    """Which replica may answer."""

    LEADER = "LEADER"
    ANY = "ANY"


@dataclass(frozen=True, slots=True)
class ExistingRun:
    """A Run of the cluster. `min_version` 0: whatever the view has."""

    namespace: str
    name: str
    uid: str = ""
    min_version: int = 0


@dataclass(frozen=True, slots=True)
class HypotheticalRun:
    """A Run that is not in the cluster: its manifest as JSON bytes."""

    manifest: bytes


ItemRef = ExistingRun | HypotheticalRun


@dataclass(frozen=True, slots=True)
class CandidateRef:
    """A Runtime Pod. An empty uid: whichever has that name."""

    name: str
    uid: str = ""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a read is answered. Times in seconds; `deadline` on the monotonic clock, until which waiting is allowed."""

    profile: str = ""
    max_view_age: float | None = None
    consistency: Consistency = Consistency.LEADER
    deadline: float | None = None


@dataclass(frozen=True, slots=True)
class FilterQuestion:
    """Which candidates could take the item. `page_token` as the last answer gave it."""

    item: ItemRef
    read: ReadOptions = field(default_factory=ReadOptions)
    all_plugins: bool = False
    page_size: int = 10
    page_token: str = ""


@dataclass(frozen=True, slots=True)
class ScoreQuestion:
    """Which candidate is best. `candidates`: look at these names only."""

    item: ItemRef
    read: ReadOptions = field(default_factory=ReadOptions)
    limit: int = 10
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanQuestion:
    """Decide. `hold` in seconds; `owner` is authenticated identity plus the caller's token."""

    item: ItemRef
    owner: str
    read: ReadOptions = field(default_factory=ReadOptions)
    hold: float = 30.0
    dry_run: bool = False
    attempt_id: str = ""


def existing(item: ItemRef) -> ExistingRun:
    """Return `item` when it exists in the cluster; only reads and dry runs may be hypothetical.

    Raises PlacementError INLINE_NOT_ALLOWED.
    """
    if isinstance(item, HypotheticalRun):
        raise PlacementError(
            Reason.INLINE_NOT_ALLOWED,
            "item.manifest is for reads and dry runs only: create the Run and name it in item.run.",
            metadata={"field": "item.manifest"},
        )
    return item
