"""Where every item is: the one place that turns assignments and reservations into use, targets and repellers.

An item occupies the candidate that it is assigned to and the one that it is reserved on; where both are one candidate
it counts there once, at every instant. Written by `ClusterState` alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from berth_server.objects.item import Item
from berth_server.state.ledger import Ledger, Requests
from berth_server.state.targets import Target, Targets

Touched = Callable[[str, str, "Presence | None", "Presence | None"], None]
"""Called with (candidate UID, item UID, before, after) once that item's presence there has changed."""

_NOWHERE: Mapping[str, "Presence"] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Presence:
    """How one item counts on one candidate."""

    namespace: str
    requests: Requests
    target: Target


class Occupancy:
    """item UID -> candidate UID -> presence, with ledger and targets as its projections."""

    __slots__ = ("_by_name", "_name_of", "_resolve", "_touched", "_where", "ledger", "targets")

    def __init__(self, resolve: Callable[[str, str], str | None], touched: Touched) -> None:
        """`resolve` gives the UID of the candidate in view that has a namespace and name."""
        self.ledger = Ledger()
        self.targets: dict[str, Targets] = {}
        self._resolve = resolve
        self._touched = touched
        self._where: dict[str, dict[str, Presence]] = {}
        self._by_name: dict[tuple[str, str], set[str]] = {}
        self._name_of: dict[str, tuple[str, str]] = {}

    def place(self, item: Item, reserved_on: str | None) -> None:
        """Let `item` occupy exactly where it is assigned, as last observed, and where it is reserved."""
        self._follow_name(item)
        presence = _presence(item)
        wanted = {uid: presence for uid in (self._assigned_to(item), reserved_on) if uid is not None}
        self._become(item.uid, wanted)

    def vacate(self, uid: str) -> None:
        """The item is gone."""
        self._unfollow_name(uid)
        self._become(uid, {})

    def where(self, uid: str) -> Mapping[str, Presence]:
        """Candidate UIDs that the item occupies."""
        return self._where.get(uid, _NOWHERE)

    def named(self, namespace: str, name: str) -> list[str]:
        """UIDs of items that are assigned to that name and to no UID: they follow whoever bears the name."""
        return sorted(self._by_name.get((namespace, name), ()))

    def _assigned_to(self, item: Item) -> str | None:
        if not item.holds_capacity:
            return None
        return item.assigned_uid or self._resolve(item.namespace, item.assigned_name)

    def _follow_name(self, item: Item) -> None:
        self._unfollow_name(item.uid)
        if item.holds_capacity and not item.assigned_uid:
            key = (item.namespace, item.assigned_name)
            self._name_of[item.uid] = key
            self._by_name.setdefault(key, set()).add(item.uid)

    def _unfollow_name(self, uid: str) -> None:
        key = self._name_of.pop(uid, None)
        if key is not None:
            self._by_name[key].discard(uid)
            if not self._by_name[key]:
                del self._by_name[key]

    def _become(self, uid: str, wanted: dict[str, Presence]) -> None:
        before = self._where.get(uid, {})
        if before == wanted:
            return
        if wanted:
            self._where[uid] = wanted
        else:
            del self._where[uid]
        for candidate in {**before, **wanted}:
            self._change(uid, candidate, before.get(candidate), wanted.get(candidate))

    def _change(self, uid: str, candidate: str, before: Presence | None, after: Presence | None) -> None:
        if before == after:
            return
        if before is not None:
            self.ledger.discharge(candidate, uid)
            self.targets[before.namespace].remove(before.target, candidate)
        if after is not None:
            self.ledger.charge(candidate, uid, after.requests)
            self.targets.setdefault(after.namespace, Targets()).add(after.target, candidate)
        if before is not None and not self.targets[before.namespace]:
            del self.targets[before.namespace]
        self._touched(candidate, uid, before, after)


def _presence(item: Item) -> Presence:
    target = Target(frozenset(item.labels.items()), item.spec.required_anti)
    return Presence(item.namespace, item.spec.requests, target)
