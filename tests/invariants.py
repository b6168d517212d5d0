"""What must hold after every step, whatever happened: CAP, ONE, SAME, and that nothing is left over in the end."""

from collections import Counter
from typing import Any

from berth_server.objects.decode import decode, version_of
from berth_server.objects.item import Item
from berth_server.objects.resources import PersistentWorkspace, Pod, Run
from berth_server.placement.eligibility import standing
from berth_server.placement.translate import candidate_of, item_of, workspace_of
from berth_server.state.cluster import ClusterState
from berth_server.state.reservations import State
from tests.harness import Harness

Amounts = dict[str, Counter[str]]
"""Pod UID -> resource -> units."""


class Bounds:
    """How much of each Pod may be taken: what it ever had, or what was taken when the test began, if that was more."""

    def __init__(self, harness: Harness) -> None:
        self._most: Amounts = {}
        self._initial = _active(harness)
        self.learn(harness)

    def check(self, harness: Harness) -> None:
        """CAP: active in the API and reserved but not active there, together, never exceed what there was."""
        self.learn(harness)
        taken = _active(harness)
        placed = harness.placements()
        for reservation in harness.reservations:
            uid, candidate = reservation.item.uid, reservation.candidate.uid
            if placed.get(uid) != candidate:
                taken.setdefault(candidate, Counter()).update(dict(reservation.item.spec.requests))
        for candidate, amounts in taken.items():
            most, initial = self._most.get(candidate, Counter()), self._initial.get(candidate, Counter())
            for resource, amount in amounts.items():
                bound = max(most[resource], initial[resource])
                assert amount <= bound, f"CAP: {amount} {resource} of {candidate}, which has {bound}"

    def learn(self, harness: Harness) -> None:
        """Note what the Pods have now: reservations that are made on it stay right when it shrinks."""
        for resource in _objects(harness, "Pod"):
            assert isinstance(resource, Pod)
            candidate = candidate_of(resource, version=0)
            if candidate is not None:
                most = self._most.setdefault(candidate.uid, Counter())
                for name, amount in (candidate.capacity or {}).items():
                    most[name] = max(most[name], amount)


def check_one(harness: Harness) -> None:
    """ONE: no item is assigned twice in one attempt, nor reserved twice, and each is counted once where it is."""
    twice = {key: count for key, count in harness.store.assigned.items() if count > 1}
    assert not twice, f"ONE: assigned more than once: {twice}"
    core = harness.core
    holds = {reservation.item.uid: reservation.candidate.uid for reservation in core.reservations}
    assert len(holds) == len(core.reservations), "ONE: an item is reserved twice"
    assert core.state.holds == holds
    binding = [each for each in core.reservations if each.state is State.BINDING]
    assert len(binding) <= len(harness.service._binder._writes)


def check_judged(harness: Harness) -> None:
    """What the filters took at this generation they still take: a bind rests on it without asking them again."""
    state, reader = harness.core.state, harness.core.reader
    for reservation in harness.reservations:
        if reservation.judged == state.generation and reservation.state is State.HELD:
            cycle = reader.engine(reservation.profile).cycle(reservation.item, state.view(reservation.item))
            assert cycle.judge(cycle.view.columns.row_of_uid[reservation.candidate.uid]) == 0


def check_same(harness: Harness) -> None:
    """SAME: the state that grew event by event equals one that is told everything at once, in another order."""
    state = ClusterState(harness.standing_at)
    clock, seen = harness.clock, harness.seen
    for resource in reversed(list(seen["Run"].values())):
        assert isinstance(resource, Run)
        state.put_item(item_of(resource, version=version_of(resource), monotonic=clock.monotonic()))
    for workspace in seen["PersistentWorkspace"].values():
        assert isinstance(workspace, PersistentWorkspace)
        state.put_workspace(workspace_of(workspace, version=version_of(workspace)))
    for reservation in harness.core.reservations:
        state.hold(state.items.get(reservation.item.uid, reservation.item), reservation.candidate.uid)
    for pod in seen["Pod"].values():
        assert isinstance(pod, Pod)
        candidate = candidate_of(pod, version=version_of(pod))
        if candidate is not None:
            state.put_candidate(candidate, monotonic=clock.monotonic(), wall=clock.wall())
    grown, rebuilt = canonical(harness.core.state), canonical(state)
    assert grown == rebuilt, f"SAME: {[key for key in grown if grown[key] != rebuilt[key]]}"


def canonical(state: ClusterState) -> dict[str, Any]:
    """Return all that a state says, free of how it came about. Freshness is left out unless the clock stands still."""
    ledger = state.occupancy.ledger
    pools = {}
    for key, pool in state.pools.items():
        columns = pool.columns()
        named = {name: row for name, row in columns.resources.items() if (columns.capacity[row] >= 0).any()}
        pools[key] = (
            columns.names,
            columns.uids,
            columns.availability.tolist(),
            {name: columns.capacity[row].tolist() for name, row in sorted(named.items())},
            {name: columns.used[row].tolist() for name, row in sorted(named.items())},
        )
    return {
        "items": state.items,
        "item names": state.item_uids,
        "candidates": state.candidates,
        "candidate names": state.candidate_uids,
        "workspaces": state.workspaces,
        "holds": state.holds,
        "use": {uid: dict(ledger.use(uid)) for uid in ledger.candidates()},
        "pools": pools,
        "targets": {name: (each._by_labels, each._repelling) for name, each in state.occupancy.targets.items()},
    }


def check_nothing_left(harness: Harness) -> None:
    """Whatever was kept for items that are gone is gone, too."""
    core, service = harness.core, harness.service
    left = {
        "reservations": list(core.reservations),
        "holds": core.state.holds,
        "use": list(core.state.occupancy.ledger.candidates()),
        "targets": core.state.occupancy.targets,
        "attempts": list(core.attempts),
        "keys": list(core.queue.rows()),
        "events for attempts in flight": core.queue.inflight_events,
        "writes": list(service._binder._writes),
        "slots of the writer": harness.writer._slots,
        "messages": [*service.reporter._wanted, *service.reporter._noted_at, *service.reporter._tasks],
        "views to wait for": service.work._behind,
    }
    assert not any(left.values()), {name: value for name, value in left.items() if value}


def misses(harness: Harness) -> list[str]:
    """WAKE, when the queue is quiet: names of Runs that would fit now and that nobody is going to try."""
    core = harness.core
    now = core.clock.monotonic()
    found = []
    for item in core.state.items.values():
        if core.reservations.of_item(item.uid) is not None or not _eligible(harness, item):
            continue
        state = core.queue.state_of(item.uid)
        cycle = core.reader.look(item)
        if (cycle.filter() == 0).any() and (state is None or state.name == "UNSCHEDULABLE"):
            found.append(f"{item.name} ({state}) at {now}")
    return found


def _eligible(harness: Harness, item: Item) -> bool:
    return standing(item, wall=harness.clock.wall(), monotonic=harness.clock.monotonic()) is None


def _active(harness: Harness) -> Amounts:
    """What is active in the API, by the UID that it names."""
    taken: Amounts = {}
    for run in _objects(harness, "Run"):
        assert isinstance(run, Run)
        item = item_of(run, version=0, monotonic=0.0)
        if item.holds_capacity and item.assigned_uid:
            taken.setdefault(item.assigned_uid, Counter()).update(dict(item.spec.requests))
    return taken


def _objects(harness: Harness, kind: str) -> list[Any]:
    return [decode(kind, stored.json) for stored in harness.api._objects.get(kind, {}).values()]
