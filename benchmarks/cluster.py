"""The driver from end to end on a real API server, against a bare loop of the same status writes on that server.

As the tests place 2,000 Runs: under heartbeats, with a witness that follows all of it. API server, etcd and Berth share
this machine's cores, so whatever Berth spends is taken from the writes. The machine drifts: the median round counts.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Final

import uvloop

from benchmarks.measure import Figure
from tests.cluster.api import admin
from tests.cluster.berth import serving
from tests.cluster.binaries import MISSING, find
from tests.cluster.kruntimes import beating
from tests.cluster.observer import observing
from tests.cluster.processes import Cluster, running
from tests.cluster.rate import RUNS, TENANTS, bare_rate, create_pods, create_runs, placing_rate

CRDS: Final = Path("tests/cluster/crds")
ROUNDS: Final = 5
SLICE: Final = RUNS // 2


def cluster() -> Iterator[Figure]:
    """Yield all figures of this module; none without an API server."""
    binaries = find()
    if binaries is None:
        print(MISSING, file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder, running(binaries, Path(folder), CRDS) as apiserver:
        rounds = uvloop.run(_measure(apiserver))
    bare, placed = median(bare for bare, _ in rounds), median(placed for _, placed in rounds)
    share = median(placed / bare for bare, placed in rounds)
    yield Figure("status writes alone, real API server", bare, f"{bare:,.0f}/s")
    yield Figure("driver on a real API server, placements", placed, f"{placed:,.0f}/s")
    yield Figure("share of the status writes alone", share, f"{share:.0%}")


async def _measure(apiserver: Cluster) -> list[tuple[float, float]]:
    """Return the rates of the bare loop (before and after, together) and of Berth, of each round."""
    rounds = []
    async with admin(apiserver) as api, observing(apiserver):
        for _ in range(ROUNDS):
            bare, *namespaces = [await api.new_namespace() for _ in range(1 + TENANTS)]
            async with beating(api, await create_pods(api, namespaces)):
                before = await bare_rate(apiserver, await create_runs(api, [bare], SLICE))
                await create_runs(api, namespaces, RUNS)
                async with serving(apiserver.kubeconfig(), driven=False) as berth:
                    placed = await placing_rate(berth)
                after = await bare_rate(apiserver, await create_runs(api, [bare], SLICE))
            rounds.append((2 / (1 / before + 1 / after), placed))
            for namespace in (bare, *namespaces):
                await api.clear(namespace)
    return rounds
