"""How much of each candidate is taken, by UID, in exact integers.

Use of a UID that is not in view is kept, so a candidate that appears after its items starts with the right use, and one
that is recreated under the same name starts empty. Written by `ClusterState` alone.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

Requests = tuple[tuple[str, int], ...]
"""Whole units by resource name, sorted, without zeros."""

_EMPTY: Mapping[str, int] = MappingProxyType({})


class Ledger:
    """candidate UID -> item UID -> what that item takes there, with the sums kept beside it."""

    __slots__ = ("_charges", "_sums")

    def __init__(self) -> None:
        self._charges: dict[str, dict[str, Requests]] = {}
        self._sums: dict[str, dict[str, int]] = {}

    def charge(self, candidate: str, item: str, requests: Requests) -> None:
        """Count `item` on `candidate` with exactly `requests`, in place of what it counted there before."""
        self.discharge(candidate, item)
        self._charges.setdefault(candidate, {})[item] = requests
        sums = self._sums.setdefault(candidate, {})
        for resource, amount in requests:
            sums[resource] = sums.get(resource, 0) + amount

    def discharge(self, candidate: str, item: str) -> None:
        """Stop counting `item` on `candidate`; of nothing is nothing."""
        charges = self._charges.get(candidate)
        if charges is None or item not in charges:
            return
        sums = self._sums[candidate]
        for resource, amount in charges.pop(item):
            sums[resource] -= amount
            if not sums[resource]:
                del sums[resource]
        if not charges:
            del self._charges[candidate], self._sums[candidate]

    def use(self, candidate: str) -> Mapping[str, int]:
        """What is taken of `candidate`, by resource. Live: copy it to keep it."""
        return self._sums.get(candidate, _EMPTY)

    def own(self, candidate: str, item: str) -> Requests:
        """What `item` itself takes of `candidate`."""
        return self._charges.get(candidate, {}).get(item, ())

    def use_without(self, candidate: str, item: str) -> Mapping[str, int]:
        """What all others take of `candidate`."""
        own = self.own(candidate, item)
        if not own:
            return self.use(candidate)
        rest = dict(self.use(candidate))
        for resource, amount in own:
            rest[resource] -= amount
        return rest

    def candidates(self) -> Iterator[str]:
        """UIDs of which something is taken."""
        return iter(self._charges)

    def __len__(self) -> int:
        return sum(len(charges) for charges in self._charges.values())
