"""All that Berth believes of one cluster: items, candidates, workspaces, and who occupies what.

`placement.ingest` feeds it observations, `placement.write` reservations; nobody else writes. Every method is
synchronous and leaves the state whole. Identity is the UID: another UID under a known name is a deletion and an
addition.
"""

from collections.abc import Iterator

from berth_server.objects.changes import ChangeKind
from berth_server.objects.item import Item
from berth_server.state.candidate import Availability, Candidate, PoolKey
from berth_server.state.facts import Fact
from berth_server.state.freshness import Pulse
from berth_server.state.heartbeats import Heartbeats
from berth_server.state.occupancy import Occupancy, Presence
from berth_server.state.pool import Pool
from berth_server.state.view import View, Workspace

_OF_PULSE = {Pulse.STALE: Availability.STALE_HEARTBEAT, Pulse.SKEWED: Availability.SKEWED_CLOCK}
Named = tuple[str, str]
"""(namespace, name)."""


class ClusterState:
    """The state. Read its attributes freely; change it through its methods alone."""

    def __init__(self, standing_at: int | None = None) -> None:
        """`standing_at`: wall microseconds at which the clock of a cluster from files stands still."""
        self.generation = 0
        """Rises with every change of anything."""
        self.items: dict[str, Item] = {}
        self.item_uids: dict[Named, str] = {}
        self.candidates: dict[str, Candidate] = {}
        self.candidate_uids: dict[Named, str] = {}
        self.workspaces: dict[Named, Workspace] = {}
        self.pools: dict[PoolKey, Pool] = {}
        self.heartbeats = Heartbeats(standing_at)
        self.holds: dict[str, str] = {}
        """item UID -> UID of the candidate that it is reserved on."""
        self.occupancy = Occupancy(self._uid_of, self._occupied)
        self._facts: list[Fact] = []

    # --- observations ---------------------------------------------------------------------------------------------

    def put_item(self, item: Item) -> None:
        """The item was observed, first or again."""
        known = self.item_uids.get((item.namespace, item.name))
        if known is not None and known != item.uid:
            self.remove_item(known)
        self.generation += 1
        self.items[item.uid] = item
        self.item_uids[item.namespace, item.name] = item.uid
        self.occupancy.place(item, self.holds.get(item.uid))

    def remove_item(self, uid: str) -> None:
        """The item is gone, and with it whatever it occupied. A reservation must have been released before."""
        item = self.items.pop(uid, None)
        if item is not None:
            self.generation += 1
            del self.item_uids[item.namespace, item.name]
            self.occupancy.vacate(uid)

    def put_candidate(self, candidate: Candidate, *, monotonic: float, wall: int) -> None:
        """The Runtime Pod was observed, first or again."""
        key = (candidate.namespace, candidate.name)
        known = self.candidate_uids.get(key)
        if known is not None and (known != candidate.uid or self.candidates[known].pool != candidate.pool):
            self._withdraw(known)
            if known != candidate.uid:
                self.heartbeats.forget(known)
        before = self.candidates.get(candidate.uid)
        was = self.availability(before) if before is not None else None
        self.generation += 1
        self.candidates[candidate.uid] = candidate
        self.candidate_uids[key] = candidate.uid
        self.heartbeats.observe(candidate.uid, candidate.stamp, monotonic=monotonic, wall=wall)
        now = self.availability(candidate)
        if before is not None and was is now and before.capacity == candidate.capacity:
            # A heartbeat, as nearly every observation is.
            return
        pool = self.pools.get(candidate.pool)
        if pool is None:
            pool = self.pools[candidate.pool] = Pool(candidate.pool)
        pool.put(candidate, now, self.occupancy.ledger.use(candidate.uid))
        self._tell_of(candidate, before, was, now)
        if before is None:
            self._follow_name(key)

    def remove_candidate(self, uid: str) -> None:
        """The Runtime Pod is gone or is none any more. What it is used for stays in the ledger under its UID."""
        candidate = self.candidates.get(uid)
        if candidate is not None:
            self._withdraw(uid)
            self.heartbeats.forget(uid)
            self._follow_name((candidate.namespace, candidate.name))

    def put_workspace(self, workspace: Workspace) -> None:
        """The workspace was observed, first or again."""
        self.generation += 1
        self.workspaces[workspace.namespace, workspace.name] = workspace
        self._facts.append(Fact(ChangeKind.WORKSPACE_CHANGED, workspace.namespace, subject=workspace.uid))

    def remove_workspace(self, namespace: str, name: str) -> None:
        """The workspace is gone."""
        workspace = self.workspaces.pop((namespace, name), None)
        if workspace is not None:
            self.generation += 1
            self._facts.append(Fact(ChangeKind.WORKSPACE_CHANGED, namespace, subject=workspace.uid))

    def advance(self, *, monotonic: float, wall: int) -> None:
        """Time moved on: heartbeats may have expired."""
        for uid in self.heartbeats.advance(monotonic=monotonic, wall=wall):
            candidate = self.candidates[uid]
            now = self.availability(candidate)
            self.generation += 1
            self.pools[candidate.pool].show_availability(candidate.name, now)
            kind = ChangeKind.CANDIDATE_UNAVAILABLE if now else ChangeKind.CANDIDATE_AVAILABLE
            self._facts.append(Fact.of_pool(kind, candidate.pool, uid))

    # --- reservations ---------------------------------------------------------------------------------------------

    def hold(self, item: Item, candidate_uid: str) -> None:
        """Room on that candidate is reserved for `item`, in place of any room reserved before."""
        self.generation += 1
        self.holds[item.uid] = candidate_uid
        self.occupancy.place(item, candidate_uid)

    def unhold(self, item_uid: str) -> None:
        """The reservation ended, by hand-over (the item is seen assigned) or by being dropped."""
        if self.holds.pop(item_uid, None) is None:
            return
        self.generation += 1
        item = self.items.get(item_uid)
        if item is not None:
            self.occupancy.place(item, None)
        else:
            self.occupancy.vacate(item_uid)

    # --- reads ----------------------------------------------------------------------------------------------------

    def view(self, item: Item) -> View:
        """Return what a decision on `item` looks at, as of now."""
        key = PoolKey(item.namespace, item.spec.runtime)
        return View(self, self.pools.get(key) or Pool(key), item.namespace, item.uid)

    def availability(self, candidate: Candidate) -> Availability:
        """Say why the candidate's own state keeps it from taking anything, if it does."""
        if candidate.terminating:
            return Availability.TERMINATING
        if not candidate.ready:
            return Availability.NOT_READY
        pulse = self.heartbeats.pulse(candidate.uid)
        if pulse is not Pulse.FRESH:
            return _OF_PULSE[pulse]
        return Availability.INVALID_CAPACITY if candidate.capacity is None else Availability.AVAILABLE

    def candidate_named(self, namespace: str, name: str) -> Candidate | None:
        """Return the Runtime Pod in view that has that name."""
        uid = self.candidate_uids.get((namespace, name))
        return None if uid is None else self.candidates[uid]

    def in_namespace(self, candidate_uid: str, namespace: str) -> bool:
        """Whether that UID is a Runtime Pod in view, in that namespace."""
        candidate = self.candidates.get(candidate_uid)
        return candidate is not None and candidate.namespace == namespace

    def overcommitted(self) -> Iterator[Candidate]:
        """Candidates of which more is used than they have, in some resource that they advertise."""
        for uid in self.occupancy.ledger.candidates():
            candidate = self.candidates.get(uid)
            if candidate is not None and candidate.capacity is not None:
                use = self.occupancy.ledger.use(uid)
                if any(use.get(resource, 0) > amount for resource, amount in candidate.capacity.items()):
                    yield candidate

    def take_facts(self) -> list[Fact]:
        """Return what changed since this was last asked, oldest first."""
        facts, self._facts = self._facts, []
        return facts

    # --- inner ----------------------------------------------------------------------------------------------------

    def _uid_of(self, namespace: str, name: str) -> str | None:
        return self.candidate_uids.get((namespace, name))

    def _withdraw(self, uid: str) -> None:
        candidate = self.candidates.pop(uid)
        del self.candidate_uids[candidate.namespace, candidate.name]
        self.generation += 1
        pool = self.pools[candidate.pool]
        pool.remove(candidate.name)
        if not pool:
            del self.pools[candidate.pool]
        self._facts.append(Fact.of_pool(ChangeKind.CANDIDATE_REMOVED, candidate.pool, uid))

    def _follow_name(self, key: Named) -> None:
        for uid in self.occupancy.named(*key):
            self.occupancy.place(self.items[uid], self.holds.get(uid))

    def _occupied(self, candidate_uid: str, item_uid: str, before: Presence | None, after: Presence | None) -> None:
        candidate = self.candidates.get(candidate_uid)
        if candidate is None:
            return
        self.pools[candidate.pool].show_use(candidate.name, self.occupancy.ledger.use(candidate_uid))
        if before is not None and _less(before, after):
            self._facts.append(Fact.of_pool(ChangeKind.CAPACITY_RELEASED, candidate.pool, candidate_uid))
        if before is None or after is None or before.target != after.target:
            if before is not None:
                self._facts.append(Fact(ChangeKind.TARGET_REMOVED, candidate.namespace, subject=item_uid))
            if after is not None:
                self._facts.append(Fact(ChangeKind.TARGET_ADDED, candidate.namespace, subject=item_uid))

    def _tell_of(
        self, candidate: Candidate, before: Candidate | None, was: Availability | None, now: Availability
    ) -> None:
        kinds = []
        if before is None:
            kinds.append(ChangeKind.CANDIDATE_ADDED)
        else:
            # Both, when both changed at once: who was rejected for one of them waits for no news of the other.
            if was is not now:
                kinds.append(ChangeKind.CANDIDATE_UNAVAILABLE if now else ChangeKind.CANDIDATE_AVAILABLE)
            if before.capacity != candidate.capacity:
                kinds.append(ChangeKind.CANDIDATE_CAPACITY)
        self._facts.extend(Fact.of_pool(kind, candidate.pool, candidate.uid) for kind in kinds)


def _less(before: Presence, after: Presence | None) -> bool:
    """Whether less of anything is taken than before."""
    left = dict(after.requests) if after is not None else {}
    return any(left.get(resource, 0) < amount for resource, amount in before.requests)
