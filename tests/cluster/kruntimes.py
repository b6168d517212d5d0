"""The other components of kruntimes as far as they write what Berth reads: Runtime Pods, runtimed, the reaper.

Their protocol: runtimed claims a Run that is Scheduled on its Pod (by name and UID) with a conditional write, runs it,
and ends it; a failed attempt that may be retried goes back to Pending, unassigned, with attempt + 1 and condition
Running=False; the reaper does that for Runs whose Runtime Pod is gone.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import msgspec

from berth_server.kube.conditions import OwnCondition, with_own
from berth_server.objects.timestamps import format_time
from berth_server.placement.ports import ConflictError, NotFoundError
from tests.cluster.api import JSON, Api

HEARTBEAT_SECONDS = 4.0


def now() -> str:
    """Return this instant as components write it."""
    return format_time(datetime.now(UTC))


def run_manifest(namespace: str, name: str, *, labels: Mapping[str, str] | None = None, **spec: Any) -> JSON:
    """Return a Run of runtime py."""
    metadata = {"namespace": namespace, "name": name, "labels": dict(labels or {})}
    return {
        "apiVersion": "kruntimes.io/v1alpha1",
        "kind": "Run",
        "metadata": metadata,
        "spec": {"runtime": "py", **spec},
    }


def alive(stamp: str | None = None) -> JSON:
    """Return the status of a Runtime Pod that is up and was heard from now."""
    stamp = stamp or now()
    conditions = [
        {"type": "Ready", "status": "True"},
        {"type": "kruntimes.io/RuntimedReady", "status": "True", "lastProbeTime": stamp},
    ]
    return {"phase": "Running", "conditions": conditions}


async def add_pod(api: Api, namespace: str, name: str, capacity: Mapping[str, int]) -> JSON:
    """Create a Runtime Pod of runtime py that is up."""
    annotations = {f"kruntimes.io/capacity.{resource}": str(units) for resource, units in capacity.items()}
    metadata = {"namespace": namespace, "name": name, "labels": {"runtime": "py"}, "annotations": annotations}
    spec = {"containers": [{"name": "runtimed", "image": "runtimed"}]}
    await api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    return await api.patch("Pod", namespace, name, {"status": alive()})


async def in_parallel(work: Iterable[Any], at_once: int = 32) -> list[Any]:
    """Await all of them, so many at once."""
    room = asyncio.Semaphore(at_once)

    async def one(each: Any) -> Any:
        async with room:
            return await each

    return list(await asyncio.gather(*(one(each) for each in work)))


@asynccontextmanager
async def beating(api: Api, pods: Iterable[JSON]) -> AsyncIterator[None]:
    """Give heartbeats of these Pods, evenly spread over the period; a Pod that is gone gives none."""
    names = [(pod["metadata"]["namespace"], pod["metadata"]["name"]) for pod in pods]

    async def beat(namespace: str, name: str, offset: float) -> None:
        await asyncio.sleep(offset)
        while True:
            # An API server that is away answers nobody; the next heartbeat comes anyway.
            with suppress(Exception):
                await api.patch("Pod", namespace, name, {"status": alive()})
            await asyncio.sleep(HEARTBEAT_SECONDS)

    tasks = [
        asyncio.create_task(beat(*name, HEARTBEAT_SECONDS * index / len(names))) for index, name in enumerate(names)
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def write_status(api: Api, run: JSON, status: JSON, *own: OwnCondition) -> JSON | None:
    """Write the status of a Run as it was read; None: somebody else was faster."""
    metadata = run["metadata"]
    conditions = with_own(msgspec.json.encode(run.get("status", {}).get("conditions")), own, datetime.now(UTC))
    body = {
        "metadata": {"resourceVersion": metadata["resourceVersion"]},
        "status": {**status, "conditions": conditions},
    }
    try:
        return await api.patch("Run", metadata["namespace"], metadata["name"], body)
    except (ConflictError, NotFoundError):
        return None


async def claim(api: Api, run: JSON) -> JSON | None:
    """Start a Run that is Scheduled, as the runtimed of its Pod does."""
    return await write_status(api, run, {"phase": "Running"}, OwnCondition("Running", "True", "Started"))


async def succeed(api: Api, run: JSON) -> JSON | None:
    """End a Run well."""
    over = OwnCondition("Running", "False", "Succeeded"), OwnCondition("Completed", "True", "Succeeded")
    return await write_status(api, run, {"phase": "Succeeded", "completionTime": now()}, *over)


async def send_back(api: Api, run: JSON, reason: str) -> JSON | None:
    """Give a Run another attempt: what runtimed does after a failure, and the reaper for a Pod that is gone."""
    attempt = run["status"].get("attempt", 1) + 1
    status = {"phase": "Pending", "attempt": attempt, "assignedPod": None, "assignedPodUID": None}
    return await write_status(api, run, status, OwnCondition("Running", "False", reason))
