"""Clusters of a given size for measuring: as state in memory, and as manifests for a server."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from berth_server.objects.item import Item
from berth_server.objects.resources import RunSpec
from berth_server.objects.runspec import parse_spec
from berth_server.state.candidate import Candidate, PoolKey
from berth_server.state.cluster import ClusterState

POOL = PoolKey("bench", "python")
STAMP = "2026-01-01T00:00:00Z"
Json = dict[str, Any]


def item(
    uid: str,
    requests: dict[str, int],
    *,
    assigned_uid: str = "",
    labels: dict[str, str] | None = None,
    affinity: Json | None = None,
) -> Item:
    """Return a Run, active if it is assigned."""
    spec = parse_spec(
        RunSpec(
            runtime=POOL.runtime,
            resources={"requests": {name: str(amount) for name, amount in requests.items()}},
            affinity=affinity,
        )
    )
    phase = "Running" if assigned_uid else "Pending"
    return Item(uid, POOL.namespace, f"run-{uid}", 1, spec, labels or {}, phase=phase, assigned_uid=assigned_uid)


def state_of(candidates: int, *, odd: bool = False, seed: int = 1) -> ClusterState:
    """Return a pool of that size in random use. `odd`: capacities without a common denominator."""
    rng = random.Random(seed)
    state = ClusterState(standing_at=0)
    for number in range(candidates):
        runs = rng.choice((997, 1009, 1013, 1019, 1021, 1031)) * rng.randrange(7, 99) if odd else 64
        capacity = {"runs": runs, "gpu": 8, "memory": 2**34 + (rng.randrange(1000) if odd else 0)}
        uid = f"pod-{number}"
        state.put_candidate(Candidate(uid, POOL, f"pod-{number:06d}", 1, capacity, stamp=0), monotonic=0.0, wall=0)
        use = {"runs": rng.randrange(1, 48), "gpu": rng.randrange(0, 6), "memory": rng.randrange(2**32, 2**33)}
        state.put_item(item(f"busy-{number}", use, assigned_uid=uid))
    state.take_facts()
    return state


def pods(count: int, runs: int = 64) -> Iterator[Json]:
    """Yield Runtime Pods as manifests."""
    for number in range(count):
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"python-{number:05d}",
                "namespace": "bench",
                "uid": f"pod-{number}",
                "labels": {"runtime": "python"},
                "annotations": {"kruntimes.io/capacity.runs": str(runs), "kruntimes.io/capacity.gpu": "8"},
            },
            "spec": {"nodeName": f"node-{number % 50}"},
            "status": {
                "phase": "Running",
                "conditions": [
                    {"type": "Ready", "status": "True"},
                    {"type": "kruntimes.io/RuntimedReady", "status": "True", "lastProbeTime": STAMP},
                ],
            },
        }


def runs(count: int) -> Iterator[Json]:
    """Yield Pending Runs as manifests."""
    for number in range(count):
        yield {
            "apiVersion": "kruntimes.io/v1alpha1",
            "kind": "Run",
            "metadata": {
                "name": f"run-{number:06d}",
                "namespace": "bench",
                "uid": f"run-{number}",
                "creationTimestamp": STAMP,
                "labels": {"app": f"app-{number % 100}"},
            },
            "spec": {"runtime": "python", "resources": {"requests": {"runs": "1"}}},
            "status": {"phase": "Pending", "attempt": 1},
        }


def write_manifests(path: Path, pod_count: int, run_count: int, runs_a_pod: int = 64) -> None:
    """Write a cluster to `path`, one JSON List."""
    things = [*pods(pod_count, runs_a_pod), *runs(run_count)]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": things}))
