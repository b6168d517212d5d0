"""How fast Berth places 2,000 Runs on a real API server, and how fast a loop writes the same that decides nothing."""

import asyncio
import gc
import secrets
import time
from collections.abc import Sequence

from berth_server.observability.collector import reading_much
from tests.cluster.api import JSON, Api, admin
from tests.cluster.berth import Berth, until
from tests.cluster.kruntimes import add_pod, in_parallel, now, run_manifest
from tests.cluster.processes import Cluster

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


async def placing_rate(berth: Berth) -> float:
    """Return how many Runs a second are placed, from the driver's start until nothing is left to try."""
    started = time.monotonic()
    driving = asyncio.create_task(berth.driver.run())

    def is_done() -> bool:
        counts = berth.service.work.counts()
        return driving.done() or not counts["active"] + counts["in_flight"]

    await until(is_done, "all Runs were tried", patience=240)
    rate = RUNS / (time.monotonic() - started)
    driving.cancel()
    return rate


async def create_pods(api: Api, namespaces: Sequence[str]) -> list[JSON]:
    """Create the Runtime Pods, in turn in each namespace."""
    return await in_parallel(
        add_pod(api, namespaces[index % len(namespaces)], f"p{index}", CAPACITY) for index in range(PODS)
    )


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
