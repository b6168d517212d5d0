"""What heartbeats cost: a watch stream of Runtime Pods as an API server sends it, from its bytes to the state.

The stream is made beforehand; what is timed is splitting, decoding and taking the events, and the timers they move.
"""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from benchmarks.driving import service_of
from benchmarks.measure import Figure
from benchmarks.worlds import Json, pods
from berth_server.kube.embedded import EmbeddedStore
from berth_server.kube.watchlines import LineSplitter, event_of
from berth_server.objects.timestamps import format_time
from berth_server.placement.service import PlacementService

PODS: Final = 10_000
PERIOD_SECONDS: Final = 5.0
ROUNDS: Final = 3
CHUNK_BYTES: Final = 65_536
"""What one read of the socket gives at most, about."""


def watching() -> Iterator[Figure]:
    """Yield all figures of this module."""
    service = service_of(EmbeddedStore(), standing=False)
    start = datetime.now(UTC).replace(microsecond=0)
    _feed(service, _stream("ADDED", start, 1))
    best = 0.0
    for turn in range(1, ROUNDS + 1):
        # Each round's stamps are new; a few seconds ahead of this clock is as good as fresh.
        data = _stream("MODIFIED", start + timedelta(seconds=turn * PERIOD_SECONDS), 1 + turn * PODS)
        began = time.thread_time()
        _feed(service, data)
        best = max(best, PODS / (time.thread_time() - began))
    share = PODS / PERIOD_SECONDS / best
    yield Figure("heartbeats of 10,000 Pods, events a CPU second", best, f"{best:,.0f}/s")
    yield Figure("heartbeats of 10,000 Pods every 5 s, share of a core", share, f"{share:.1%}")


def _feed(service: PlacementService, stream: list[bytes]) -> None:
    splitter, ingest = LineSplitter(), service.core.ingest
    for chunk in stream:
        for line in splitter.feed(chunk):
            ingest.apply(event_of("Pod", line))
        service.work.let_time_pass()


def _stream(kind: str, stamp: datetime, version: int) -> list[bytes]:
    lines = (
        json.dumps({"type": kind, "object": _as_served(pod, stamp, version + number)}).encode()
        for number, pod in enumerate(pods(PODS))
    )
    data = b"\n".join(lines) + b"\n"
    return [data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)]


def _as_served(pod: Json, stamp: datetime, version: int) -> Json:
    """A Pod with what an API server adds to it and Berth skips: about 4 KiB."""
    metadata = {**pod["metadata"], "resourceVersion": str(version), "managedFields": _MANAGED}
    container = {
        "name": "runtimed",
        "image": "registry.example.com/kruntimes/runtimed:1.0.0",
        "env": [{"name": f"SETTING_{number}", "value": "x" * 40} for number in range(12)],
        "volumeMounts": [{"name": "work", "mountPath": "/work"}, {"name": "token", "mountPath": "/token"}],
    }
    spec = {**pod["spec"], "containers": [container], "tolerations": [{"operator": "Exists"}]}
    ready, runtimed = pod["status"]["conditions"]
    conditions = [ready, {**runtimed, "lastProbeTime": format_time(stamp)}]
    return {**pod, "metadata": metadata, "spec": spec, "status": {**pod["status"], "conditions": conditions}}


_FIELDS: Final[Json] = {f"f:field{number}": {f"f:part{part}": {} for part in range(6)} for number in range(12)}
_MANAGED: Final = [
    {"manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": _FIELDS}
    for manager in ("kubelet", "runtimed")
]
