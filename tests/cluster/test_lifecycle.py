"""Runs from Pending to their end with the other components at work, and what Berth writes on the way."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any

import pytest

from berth_server.objects.resources import Run
from tests.cluster.api import JSON, Api, WritableKubernetesStore, admin, path_of
from tests.cluster.berth import serving, until
from tests.cluster.kruntimes import add_pod, beating, claim, in_parallel, run_manifest, send_back, succeed
from tests.cluster.processes import Cluster
from tests.listing import listed

pytestmark = pytest.mark.cluster

THEIRS = "theirs.example.com/Checked"
FOREIGN: JSON = {
    "type": THEIRS,
    "status": "True",
    "reason": "Theirs",
    "message": "not ours",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
    "aNewerField": {"list": [1, 2.5, None], "big": 9007199254740993},
}


class Components:
    """runtimed of every Pod of a namespace, and the reaper."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace
        self._taken: set[tuple[str, int]] = set()
        self.stuck: set[str] = set()
        """Names of Runs that start and never end."""
        self.ran: list[tuple[str, int, str]] = []
        """(Run, attempt, Pod) of what was started, in order."""

    async def run(self) -> None:
        """Work until cancelled."""
        store = WritableKubernetesStore(self._api.connection)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._reap())
            listing = await listed(store, "Run")
            async for event in store.watch("Run", listing.version):
                run = event.resource
                if isinstance(run, Run) and run.metadata.namespace == self._namespace and run.status is not None:
                    key = (run.metadata.uid, run.status.attempt or 1)
                    if run.status.phase == "Scheduled" and key not in self._taken:
                        self._taken.add(key)
                        tasks.create_task(self._live(run.metadata.name))

    async def _live(self, name: str) -> None:
        run = await self._api.get("Run", self._namespace, name)
        running = await claim(self._api, run)
        assert running is not None, "nobody but runtimed writes a Run that is Scheduled"
        self.ran.append((name, running["status"].get("attempt", 1), running["status"]["assignedPod"]))
        if name not in self.stuck:
            await asyncio.sleep(0.2)
            assert await succeed(self._api, running) is not None

    async def _reap(self) -> None:
        while True:
            await asyncio.sleep(0.5)
            pods = await self._api.send("GET", path_of("Pod", self._namespace))
            there = {pod["metadata"]["uid"] for pod in pods["items"]}
            runs = await self._api.send("GET", path_of("Run", self._namespace))
            for run in runs["items"]:
                status = run.get("status") or {}
                if status.get("phase") in {"Scheduled", "Running"} and status["assignedPodUID"] not in there:
                    self.stuck.discard(run["metadata"]["name"])
                    await send_back(self._api, run, "RuntimePodLost")


@asynccontextmanager
async def working(components: Components) -> AsyncIterator[None]:
    """Let them work."""
    task = asyncio.create_task(components.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def status_of(api: Api, namespace: str, name: str) -> JSON:
    """Return the status of a Run as the API server has it."""
    return (await api.get("Run", namespace, name)).get("status") or {}


async def until_status(api: Api, namespace: str, name: str, **want: Any) -> JSON:
    """Wait until the status has these values, and return it."""
    async with asyncio.timeout(60):
        while True:
            status = await status_of(api, namespace, name)
            if want.items() <= status.items():
                return status
            await asyncio.sleep(0.05)


def condition(status: JSON, kind: str) -> JSON:
    """Return one condition."""
    found: JSON = next(each for each in status["conditions"] if each["type"] == kind)
    return found


async def test_runs_run_and_are_tried_again(shared_cluster: Cluster) -> None:
    """Scheduled, Running, Succeeded; capacity comes back; a Run whose Pod is lost goes to another after its delay."""
    async with admin(shared_cluster) as api:
        namespace = await api.new_namespace()
        pods = [await add_pod(api, namespace, f"p{index}", {"runs": 2}) for index in range(3)]
        components = Components(api, namespace)
        components.stuck.add("sticky")
        retry = {"maxAttempts": 3, "backoff": "2s"}
        async with beating(api, pods), working(components), serving(shared_cluster.kubeconfig()) as berth:
            await api.create(run_manifest(namespace, "sticky", retryPolicy=retry))
            first = await until_status(api, namespace, "sticky", phase="Running")
            # Twelve Runs on the five slots that are left.
            names = [f"r{index}" for index in range(12)]
            await in_parallel(api.create(run_manifest(namespace, name)) for name in names)
            for name in names:
                await until_status(api, namespace, name, phase="Succeeded")
            await api.send("DELETE", path_of("Pod", namespace, first["assignedPod"]), {"gracePeriodSeconds": 0})
            back = await until_status(api, namespace, "sticky", attempt=2)
            ended = datetime.fromisoformat(condition(back, "Running")["lastTransitionTime"])
            last = await until_status(api, namespace, "sticky", phase="Succeeded", attempt=2)
            await berth.quiet()
            assert berth.scheduled == len(names) + 2
        assert last["assignedPod"] != first["assignedPod"]
        scheduled = datetime.fromisoformat(condition(last, "Running")["lastTransitionTime"])
        assert (scheduled - ended).total_seconds() >= 2.0
        assert sorted(each[:2] for each in components.ran) == sorted(
            [("sticky", 1), ("sticky", 2), *((name, 1) for name in names)]
        )
        await api.clear(namespace)


async def test_foreign_conditions_stay_as_they_are(shared_cluster: Cluster) -> None:
    """Through a waiting message, an assignment, a cancellation and a failure, keys that we do not know included."""
    async with admin(shared_cluster) as api:
        namespace = await api.new_namespace()
        odd: JSON = {"resources": {"requests": {"gpu": "much"}}}
        manifests = [run_manifest(namespace, name) for name in ("waits", "cancelled")]
        for manifest in (*manifests, run_manifest(namespace, "failed", **odd)):
            name = manifest["metadata"]["name"]
            await api.create(manifest)
            await api.patch("Run", namespace, name, {"status": {"conditions": [FOREIGN]}})
        await api.patch("Run", namespace, "cancelled", {"spec": {"cancelRequested": True}}, status=False)
        async with serving(shared_cluster.kubeconfig()):
            waiting = await until_status(api, namespace, "waits", message="0/0 runtime pods: NoRuntimePods")
            cancelled = await until_status(api, namespace, "cancelled", phase="Cancelled")
            failed = await until_status(api, namespace, "failed", phase="Failed")
            pod = await add_pod(api, namespace, "p", {"runs": 1})
            bound = await until_status(api, namespace, "waits", phase="Scheduled")
        assert waiting["phase"] == "Pending"
        assert bound["assignedPodUID"] == pod["metadata"]["uid"]
        for status in (waiting, bound, cancelled, failed):
            assert condition(status, THEIRS) == FOREIGN
        assert [each["type"] for each in bound["conditions"]] == [THEIRS, "Scheduled"]
        assert condition(bound, "Scheduled")["reason"] == "Assigned"
        for status, reason in ((cancelled, "Cancelled"), (failed, "InvalidResources")):
            assert [condition(status, kind)["status"] for kind in ("Running", "Completed")] == ["False", "False"]
            assert condition(status, "Completed")["reason"] == reason
            assert status["completionTime"]
        assert "spec.resources.requests" in failed["message"]
        await api.clear(namespace)


async def events_of(api: Api, namespace: str) -> list[JSON]:
    """Return the Events of a namespace."""
    found: list[JSON] = (await api.send("GET", path_of("Event.events.k8s.io", namespace)))["items"]
    return found


async def until_told(api: Api, namespace: str, name: str, reason: str) -> dict[tuple[str, str], JSON]:
    """Wait until an Event is there; return all of them by name and reason, of which none is there twice."""
    async with asyncio.timeout(60):
        while True:
            events = await events_of(api, namespace)
            told = {(each["regarding"]["name"], each["reason"]): each for each in events}
            if (name, reason) in told:
                assert len(told) == len(events)
                return told
            await asyncio.sleep(0.05)


async def test_events_tell_what_happened(shared_cluster: Cluster) -> None:
    """One for the wait, one for the assignment; what repeats is no second one."""
    async with admin(shared_cluster) as api:
        namespace = await api.new_namespace()
        run = await api.create(run_manifest(namespace, "a"))
        async with serving(shared_cluster.kubeconfig()) as berth:
            await until(lambda: berth.metric("berth_events_total", result="sent") == 1, "the wait is told")
            await add_pod(api, namespace, "drained", {"runs": 0})
            tries = "kruntimes_scheduler_sync_total"
            await until(lambda: berth.metric(tries, result="no_pods") >= 2, "it was tried again")
            pod = await add_pod(api, namespace, "p", {"runs": 1})
            told = await until_told(api, namespace, "a", "Scheduled")
            assert berth.metric("berth_events_total", result="failed") == 0
        waited, bound = told["a", "FailedScheduling"], told["a", "Scheduled"]
        assert (waited["type"], waited["action"]) == ("Warning", "Scheduling")
        assert waited["note"] == "0/0 runtime pods: NoRuntimePods"
        assert (bound["type"], bound["action"], bound["note"]) == ("Normal", "Binding", "assigned to p")
        assert bound["regarding"]["uid"] == run["metadata"]["uid"]
        assert bound["related"]["uid"] == pod["metadata"]["uid"]
        await api.clear(namespace)


async def test_events_can_be_switched_off(shared_cluster: Cluster) -> None:
    """One flag, and not one is written."""
    async with admin(shared_cluster) as api:
        namespace = await api.new_namespace()
        await api.create(run_manifest(namespace, "a"))
        async with serving(shared_cluster.kubeconfig(), events=False) as berth:
            await add_pod(api, namespace, "p", {"runs": 1})
            await until(lambda: berth.scheduled == 1, "the Run is placed")
            await berth.quiet()
        assert await events_of(api, namespace) == []
        await api.clear(namespace)
