"""The keys that wait for a cure, found by the event that cures them.

Keys of one pool with the same cures wait in one lot, and only lots are indexed: an event costs what it cures, however
many others wait, and a key costs one place however many cures it has.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from berth_server.queue.events import ClusterEvent, Cure, Scope
from berth_server.queue.key import QueueKey

if TYPE_CHECKING:
    from berth_server.objects.changes import ChangeKind

_LotKey = tuple[str, str, frozenset[Cure]]


@dataclass(slots=True, eq=False)
class _Lot:
    """Members in the order in which they came."""

    key: _LotKey
    members: dict[str, None] = field(default_factory=dict)


class WaitingRoom:
    """Written by `PendingQueue` alone. A key is in it at most once."""

    __slots__ = ("_index", "_lot_of", "_lots")

    def __init__(self) -> None:
        self._lots: dict[_LotKey, _Lot] = {}
        self._lot_of: dict[str, _Lot] = {}
        # By kind and namespace, then by runtime (None: cured from anywhere in the namespace).
        self._index: dict[tuple[ChangeKind, str], dict[str | None, dict[_Lot, None]]] = {}

    def __len__(self) -> int:
        return len(self._lot_of)

    def add(self, key: QueueKey, cures: frozenset[Cure]) -> None:
        """Let a key that is not in wait for any of `cures`; none: until it is discarded."""
        lot_key = key.namespace, key.runtime, cures
        lot = self._lots.get(lot_key)
        if lot is None:
            lot = self._lots[lot_key] = _Lot(lot_key)
            self._open(lot)
        lot.members[key.uid] = None
        self._lot_of[key.uid] = lot

    def discard(self, uid: str) -> None:
        """Take out a key that is in."""
        lot = self._lot_of.pop(uid)
        del lot.members[uid]
        if not lot.members:
            del self._lots[lot.key]
            self._close(lot)

    def cured_by(self, event: ClusterEvent) -> list[str]:
        """Return the UIDs of all that `event` can cure."""
        places = self._index.get((event.kind, event.namespace))
        if places is None:
            return []
        near = places if event.runtime == "" else (event.runtime, None)
        lots = {lot: None for place in near for lot in places.get(place, ())}
        return [uid for lot in lots for uid in lot.members]

    def _open(self, lot: _Lot) -> None:
        namespace, runtime, cures = lot.key
        for cure in cures:
            places = self._index.setdefault((cure.kind, namespace), {})
            places.setdefault(_place(cure, runtime), {})[lot] = None

    def _close(self, lot: _Lot) -> None:
        namespace, runtime, cures = lot.key
        for cure in cures:
            places = self._index[cure.kind, namespace]
            place = _place(cure, runtime)
            del places[place][lot]
            if not places[place]:
                del places[place]
            if not places:
                del self._index[cure.kind, namespace]


def _place(cure: Cure, runtime: str) -> str | None:
    return runtime if cure.scope is Scope.POOL else None
