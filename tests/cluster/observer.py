"""A witness apart from Berth: follows the Runs from before the first one and judges every version of every Run."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import msgspec

from berth_server.objects.decode import decode
from berth_server.objects.resources import Run
from berth_server.placement.ports import EventType, WatchEvent
from berth_server.placement.translate import item_of
from tests.cluster.api import JSON, WritableKubernetesStore, connected
from tests.cluster.berth import until
from tests.cluster.processes import Cluster
from tests.listing import listed

Amounts = Mapping[str, int]


class Observer:
    """`capacity`: Pod UID -> resource -> units. The events are kept in order and judged by `judge`."""

    def __init__(self) -> None:
        self.events: list[WatchEvent] = []
        self.capacity: dict[str, Amounts] = {}

    def knows(self, *pods: JSON) -> None:
        """Take note of what Pods can hold."""
        prefix = "kruntimes.io/capacity."
        for pod in pods:
            annotations = pod["metadata"]["annotations"]
            self.capacity[pod["metadata"]["uid"]] = {
                key.removeprefix(prefix): int(units) for key, units in annotations.items() if key.startswith(prefix)
            }

    def forget(self, namespace: str) -> None:
        """Leave a namespace out that Berth has nothing to do with."""
        self.events = [
            each for each in self.events if each.resource is None or each.resource.metadata.namespace != namespace
        ]

    def runs(self) -> dict[str, Run]:
        """Return the Runs as last seen, by UID."""
        last: dict[str, Run] = {}
        for event in self.events:
            if isinstance(event.resource, Run):
                last[event.resource.metadata.uid] = event.resource
        return last

    def count(self, phase: str, namespace: str = "") -> int:
        """Return how many Runs are in a phase now."""
        return sum(
            run.status is not None and run.status.phase == phase and namespace in {"", run.metadata.namespace}
            for run in self.runs().values()
        )

    def judge(self) -> Counter[tuple[str, int]]:
        """Replay: use never exceeds capacity, no (UID, attempt) is assigned twice. Return what was assigned."""
        where: dict[str, tuple[str, Amounts]] = {}
        use: dict[str, Counter[str]] = {}
        assigned: Counter[tuple[str, int]] = Counter()
        placed: dict[tuple[str, int], str] = {}
        for event in self.events:
            assert isinstance(event.resource, Run)
            item = item_of(event.resource, version=event.version, monotonic=0.0)
            pod, amounts = where.pop(item.uid, ("", {}))
            if pod:
                use[pod].subtract(amounts)
            if event.type is EventType.DELETED or not item.holds_capacity:
                continue
            key = (item.uid, item.attempt)
            if key not in placed:
                placed[key] = item.assigned_uid
                assigned[key] += 1
            assert placed[key] == item.assigned_uid, f"ONE: {key} was on {placed[key]} and is on {item.assigned_uid}"
            where[item.uid] = (item.assigned_uid, dict(item.spec.requests))
            taken = use.setdefault(item.assigned_uid, Counter())
            taken.update(dict(item.spec.requests))
            for resource, amount in taken.items():
                most = self.capacity[item.assigned_uid].get(resource, 0)
                assert amount <= most, f"CAP: {amount} {resource} of {most} on {item.assigned_uid} at {event.version}"
        return assigned


@asynccontextmanager
async def observing(cluster: Cluster) -> AsyncIterator[Observer]:
    """Observe on a connection of its own, straight to the API server."""
    observer = Observer()
    async with connected(cluster.kubeconfig()) as api:
        store = WritableKubernetesStore(api.connection)
        since = (await listed(store, "Run")).version

        async def follow() -> None:
            async for event in store.watch("Run", since):
                if event.type is not EventType.BOOKMARK:
                    observer.events.append(event)

        task = asyncio.create_task(follow())
        try:
            yield observer
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def replayed(cluster: Cluster, since: int, *pods: JSON) -> Observer:
    """Return an observer that saw every version after `since`, read off etcd after the fact."""
    observer = Observer()
    observer.knows(*pods)
    for kind, version, raw in cluster.history("kruntimes.io/runs", since):
        raw["metadata"]["resourceVersion"] = str(version)
        observer.events.append(WatchEvent(EventType(kind), "Run", version, decode("Run", msgspec.json.encode(raw))))
    return observer


async def until_phase(observer: Observer, phase: str, count: int, *, patience: float = 90.0) -> None:
    """Wait until so many Runs are in a phase."""
    await until(lambda: observer.count(phase) >= count, f"{count} Runs are {phase}", patience=patience)
