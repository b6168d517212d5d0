"""Berth and 2,000 Runs on a real API server: all placed, none twice, no Pod over its capacity at any version."""

import asyncio
import gc
import secrets
import time
from collections.abc import Sequence

import pytest

from berth_server.observability.collector import reading_much
from tests.cluster.api import JSON, Api, admin
from tests.cluster.berth import serving, until
from tests.cluster.kruntimes import add_pod, beating, in_parallel, now, run_manifest
from tests.cluster.observer import observing, until_phase
from tests.cluster.processes import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(600)]

TENANTS = 3
PODS = 100
RUNS = 2000
CAPACITY = {"runs": 21, "gpu": 40}
"""Hardly more slots than Runs, so that the last Runs of a tenant fit in few places only."""
AT_ONCE = 64


async def bare_rate(cluster: Cluster, runs: Sequence[JSON]) -> float:
    """Return how many assignments a second a loop writes that decides nothing.

    On new connections, and with the rest of the process out of the collector's way, as Berth does.
    """
    condition = {"type": "Scheduled", "status": "True", "reason": "Assigned", "message": "assigned to p"}

    def body(run: JSON) -> JSON:
        status = {
            "phase": "Scheduled",
            "assignedPod": "p",
            "assignedPodUID": run["metadata"]["uid"],
            "message": "",
            "conditions": [{**condition, "lastTransitionTime": now()}],
        }
        return {"metadata": {"resourceVersion": run["metadata"]["resourceVersion"]}, "status": status}

    async with admin(cluster) as api:
        with reading_much():
            gc.collect()
        started = time.monotonic()
        await in_parallel(
            (api.patch("Run", run["metadata"]["namespace"], run["metadata"]["name"], body(run)) for run in runs),
            AT_ONCE,
        )
        took = time.monotonic() - started
    gc.unfreeze()
    return len(runs) / took


async def create_runs(api: Api, namespaces: Sequence[str], count: int) -> list[JSON]:
    """Create Runs, in turn in each namespace, some of which want a gpu."""
    manifests = (
        run_manifest(
            namespaces[index % len(namespaces)],
            f"r{index}-{secrets.token_hex(4)}",
            resources={"requests": {"gpu": 1 + index // len(namespaces) % 2}},
        )
        for index in range(count)
    )
    return await in_parallel(api.create(manifest) for manifest in manifests)


async def test_two_thousand_runs(shared_cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """All are placed; a witness finds CAP and ONE at every version; the metrics say the same; nothing is left over."""
    async with admin(shared_cluster) as api, observing(shared_cluster) as observer:
        namespaces = [await api.new_namespace() for _ in range(TENANTS)]
        pods = await in_parallel(
            add_pod(api, namespaces[index % TENANTS], f"p{index}", CAPACITY) for index in range(PODS)
        )
        observer.knows(*pods)
        bare = await api.new_namespace()
        async with beating(api, pods):
            # All of them before Berth starts or after it has ended: it would have something to say about them.
            before = await bare_rate(shared_cluster, await create_runs(api, [bare], RUNS // 2))
            await create_runs(api, namespaces, RUNS)
            async with serving(shared_cluster.kubeconfig(), driven=False) as berth:
                started = time.monotonic()
                driving = asyncio.create_task(berth.driver.run())
                await until(lambda: berth.scheduled >= RUNS or driving.done(), "all Runs are placed", patience=240)
                rate = RUNS / (time.monotonic() - started)
                await until_phase(observer, "Scheduled", RUNS + RUNS // 2)
                await berth.quiet()
                driving.cancel()
                observer.forget(bare)
                assigned = observer.judge()
                assert len(assigned) == RUNS
                assert max(assigned.values()) == 1
                assert berth.scheduled == len(assigned)
                assert berth.metric("berth_assumed") == 0
                assert berth.metric("berth_inflight_events") == 0
                assert berth.metric("berth_overcommitted_candidates") == 0
            after = await bare_rate(shared_cluster, await create_runs(api, [bare], RUNS // 2))
        for namespace in (*namespaces, bare):
            await api.clear(namespace)
    share = rate / ((before + after) / 2)
    with capsys.disabled():
        print(f"\n{RUNS} Runs: {rate:.0f}/s, bare loop {before:.0f}/s and {after:.0f}/s, share {share:.0%} (goal 90%)")
