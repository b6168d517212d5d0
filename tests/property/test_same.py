"""SAME: the state that followed events equals the one built from the objects, whatever happened on the way."""

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest

from berth_server.framework.engine import Engine
from berth_server.objects.item import Item
from berth_server.objects.selectors import EVERYTHING
from berth_server.state.cluster import ClusterState
from berth_server.state.pool import NOT_ADVERTISED, Pool
from tests.builders import DEFAULT_PROFILE, avoids, item, joins, selector, term
from tests.conftest import base_seed
from tests.property.same_world import LABELS, NAMESPACES, POD_NAMES, ChangingCluster

STEPS = 250
WORLDS, FAST_WORLDS = 3, 1
SELECTORS = (
    EVERYTHING,
    selector(app="web"),
    selector(app="web", tier="x"),
    selector({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}),
    selector({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}),
)
_SPECS: list[dict[str, Any]] = [
    {},
    {"requests": {"gpu": 1}},
    {"runtime": "js"},
    {"workspace": "w"},
    {"affinity": joins(term(app="web")) | avoids(term(app="db"))},
    {"affinity": joins(preferred=[(3, term(app="web")), (5, term(tier="x"))])},
]
PROBES = [
    item(f"probe-{namespace}-{number}", namespace=namespace, labels={"app": "web"}, **spec)
    for namespace in NAMESPACES
    for number, spec in enumerate(_SPECS)
]
MUST_HAPPEN = (
    "assigned before its pod was seen",
    "assigned by name",
    "label removed",
    "label restored",
    "label written",
    "pod recreated",
    "run recreated",
    "capacity changed",
    "workspace changed",
    "message changed",
    "labels changed",
    "relisted",
    "an old event came late",
    "an old event came late of an odd one",
    "made odd",
    "odd from the start",
    "mended",
    "odd again",
    "odd deleted",
    "kept as it was",
    "recreated odd",
    "recreated well",
    "gone by a list with odd ones",
    "bound",
    "reservation handed_over",
    "reservation released",
    "reservation item_gone",
    "reservation candidate_gone",
    "reservation item_changed",
)


def columns(pool: Pool) -> list[Any]:
    """Give the rows of a pool in order; a column that nobody needs any more is as good as none."""
    shown = pool.columns()
    return [
        (
            name,
            shown.uids[row],
            int(shown.availability[row]),
            {
                resource: (int(shown.capacity[index, row]), int(shown.used[index, row]))
                for resource, index in shown.resources.items()
                if shown.capacity[index, row] != NOT_ADVERTISED
            },
        )
        for row, name in enumerate(shown.names)
    ]


def decision(state: ClusterState, judged: Item, engine: Engine) -> Any:
    """Give all that a cycle on one item comes to, by the engine that may have kept something."""
    cycle = engine.cycle(judged, state.view(judged))
    codes = cycle.filter()
    feasible = np.flatnonzero(codes == 0)
    ranked = cycle.score(feasible)
    decided = engine.decide(engine.cycle(judged, state.view(judged)))
    counts = list(decided.counts)
    return codes.tolist(), ranked.total.tolist(), decided.row, counts[: len(DEFAULT_PROFILE.reasons) + 1]


def snapshot(state: ClusterState, engine: Engine, step: int) -> dict[str, Any]:
    """Show everything that a state says, in an order that does not depend on how it came about.

    Of its own items a third is decided at each step, in turns.
    """
    occupancy = state.occupancy
    judged = [*PROBES, *(state.items[uid] for uid in sorted(state.items)[step % 3 :: 3])]
    return {
        "items": state.items,
        "item names": state.item_uids,
        "candidates": state.candidates,
        "candidate names": state.candidate_uids,
        "workspaces": state.workspaces,
        "pools": {key: columns(pool) for key, pool in state.pools.items()},
        "use": {uid: dict(occupancy.ledger.use(uid)) for uid in occupancy.ledger.candidates()},
        "charges": len(occupancy.ledger),
        "where": {uid: dict(occupancy.where(uid)) for uid in state.items},
        "holds": state.holds,
        "named": {(space, name): occupancy.named(space, name) for space in NAMESPACES for name in POD_NAMES},
        "targets": {
            (space, number): targets.matching(asked, {})
            for space, targets in occupancy.targets.items()
            for number, asked in enumerate(SELECTORS)
        },
        "repellers": {
            (space, number): targets.repelling(labels, {})
            for space, targets in occupancy.targets.items()
            for number, labels in enumerate(LABELS)
        },
        "overcommitted": sorted(candidate.uid for candidate in state.overcommitted()),
        "decisions": {one.uid: padded(decision(state, one, engine)) for one in judged},
    }


def padded(found: Any) -> Any:
    """Counts of codes may be as long as the highest code: compare them at one length."""
    codes, totals, row, counts = found
    return codes, totals, row, counts + [0] * (len(DEFAULT_PROFILE.reasons) + 1 - len(counts))


def live(cluster: ChangingCluster, steps: int, name: str) -> None:
    """Let things happen, and after each compare what was followed with what is built anew."""
    engine = Engine(DEFAULT_PROFILE)
    for step in range(steps):
        cluster.step()
        followed = snapshot(cluster.state, engine, step)
        built = snapshot(cluster.rebuilt(), Engine(DEFAULT_PROFILE), step)
        for part, want in built.items():
            assert followed[part] == want, f"{name}, step {step}: {part}"


@pytest.mark.parametrize(
    "world",
    [pytest.param(world, marks=[pytest.mark.slow] if world >= FAST_WORLDS else []) for world in range(WORLDS)],
)
def test_following_events_is_the_same_as_starting_anew(world: int) -> None:
    """After every single step all that the state shows and decides equals a rebuild from the objects it was told."""
    seed = base_seed() + world
    live(ChangingCluster(Random(seed)), STEPS, f"world {seed}")


def test_the_worlds_do_what_they_promise() -> None:
    """Every kind of change that the invariant speaks of happens, many times in the worlds of one run."""
    done: Counter[str] = Counter()
    for world in range(WORLDS):
        cluster = ChangingCluster(Random(base_seed() + world))
        for _ in range(8 * STEPS):
            cluster.step()
        done += cluster.done
    assert {what: done[what] for what in MUST_HAPPEN if done[what] < 3} == {}


def test_when_everything_has_been_told_the_view_is_the_api() -> None:
    """Nothing is lost on the way: once no event is late, what was seen is what exists."""
    cluster = ChangingCluster(Random(base_seed()))
    for _ in range(STEPS):
        cluster.step()
    cluster.mend()
    while any(cluster.late.values()):
        cluster.deliver()
    assert cluster.seen == cluster.told == cluster.api
    assert sum(view.undecodable for view in cluster.ingest.views.values()) == 0
    runs = {thing["metadata"]["uid"] for key, thing in cluster.api.items() if key[0] == "Run"}
    pods = {
        thing["metadata"]["uid"]
        for key, thing in cluster.api.items()
        if key[0] == "Pod" and thing["metadata"].get("labels")
    }
    assert (set(cluster.state.items), set(cluster.state.candidates)) == (runs, pods)
