"""Decisions in process: what one choice costs without gRPC and without Kubernetes."""

from collections.abc import Callable, Iterator
from itertools import cycle

from benchmarks.measure import Figure, rate
from benchmarks.worlds import POOL, item, state_of
from berth_server.framework.classes import ClassCache
from berth_server.framework.engine import Engine
from berth_server.framework.profile import build
from berth_server.plugins import REGISTRY
from berth_server.state.cluster import ClusterState

REQUESTS = {"runs": 1, "gpu": 1, "memory": 2**30}
PREFERRED = {
    "runAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 50,
                "runAffinityTerm": {
                    "labelSelector": {"matchLabels": {"app": "cache"}},
                    "topologyKey": "kruntimes.io/runtime-pod",
                },
            }
        ]
    }
}


def decisions() -> Iterator[Figure]:
    """Yield all figures of this module."""
    small, large = state_of(5_000), state_of(50_000)
    yield _figure("decision, cold, 5,000 candidates", _cold(small))
    yield _figure("decision, class seen, 5,000 candidates", _seen(small))
    yield _figure("decision, class seen, 50,000 candidates", _seen(large))
    yield _figure("decision and reservation, class seen, 5,000 candidates", _reserved(small))
    yield _figure("decision, cold, 5,000 candidates, no common denominator", _cold(state_of(5_000, odd=True)))
    yield _figure("decision, preferred affinity, 5,000 candidates", _preferred(small))


def _figure(name: str, work: Callable[[], object]) -> Figure:
    value = rate(work)
    return Figure(name, value, f"{value:,.0f}/s")


def _engine() -> Engine:
    return Engine(build("default", (), REGISTRY))


def _cold(state: ClusterState) -> Callable[[], int]:
    """Choose with nothing kept from before."""
    engine, run = _engine(), item("asked", REQUESTS)

    def work() -> int:
        engine.classes = ClassCache()
        return engine.decide(engine.cycle(run, state.view(run))).row

    return work


def _seen(state: ClusterState) -> Callable[[], int]:
    """Choose, while the use of one row changes before each choice."""
    engine, run, pool = _engine(), item("asked", REQUESTS), state.pools[POOL]
    uses = cycle([{"runs": amount, "gpu": 3, "memory": 2**33} for amount in range(1, 9)])
    names = cycle(pool.columns().names[:97])

    def work() -> int:
        pool.show_use(next(names), next(uses))
        return engine.decide(engine.cycle(run, state.view(run))).row

    return work


def _reserved(state: ClusterState) -> Callable[[], int]:
    """Choose, take the room, and give the room of an earlier one back: the ledger's part included."""
    engine, run = _engine(), item("asked", REQUESTS)
    takers = cycle([item(f"held-{number}", REQUESTS) for number in range(8)])

    def work() -> int:
        view = state.view(run)
        row = engine.decide(engine.cycle(run, view)).row
        taker = next(takers)
        state.unhold(taker.uid)
        state.hold(taker, view.columns.uids[row])
        state.take_facts()
        return row

    return work


def _preferred(state: ClusterState) -> Callable[[], int]:
    """Choose with a preferred term: every feasible row is ranked."""
    engine, run = _engine(), item("asked", REQUESTS, affinity=PREFERRED)
    state.put_item(item("cache", {"runs": 1}, assigned_uid="pod-17", labels={"app": "cache"}))
    return lambda: engine.decide(engine.cycle(run, state.view(run))).row
