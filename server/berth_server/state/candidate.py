"""A Runtime Pod as placement sees it, and why its own state may keep it from taking anything.

Plain values; how they come about from a Pod is `placement.ingest`'s business.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple


class Availability(IntEnum):
    """Why a candidate takes nothing at all, in the order in which it is asked; 0: it does take Runs."""

    AVAILABLE = 0
    TERMINATING = 1
    NOT_READY = 2
    STALE_HEARTBEAT = 3
    SKEWED_CLOCK = 4
    INVALID_CAPACITY = 5


class PoolKey(NamedTuple):
    """The Runtime Pods that one Run may be compared on. Sorts by namespace, then runtime."""

    namespace: str
    runtime: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A Runtime Pod as last observed. Identity is `uid`.

    `capacity`: whole units by resource name, None if an annotation is invalid. `stamp`: its last heartbeat in wall
    microseconds. `labels` of its Node are joined by whoever needs domains, not here.
    """

    uid: str
    pool: PoolKey
    name: str
    version: int
    capacity: Mapping[str, int] | None
    terminating: bool = False
    ready: bool = True
    stamp: int | None = None
    node: str = ""

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return self.pool.namespace
