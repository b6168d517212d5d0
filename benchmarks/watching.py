"""What heartbeats cost: a watch stream of Runtime Pods as an API server sends it.

Once from its bytes to the state, made beforehand: splitting, decoding and taking the events, and the timers they move.
And once whole, over HTTPS and at the pace of the heartbeats, from a server that is another process.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import trustme
import uvloop

from benchmarks.driving import service_of
from benchmarks.measure import Figure
from benchmarks.worlds import Json, pods
from berth_server.kube.embedded import EmbeddedStore
from berth_server.kube.watchlines import LineSplitter, event_of
from berth_server.objects.timestamps import format_time
from berth_server.placement.service import PlacementService
from tests.cluster.berth import serving

PODS: Final = 10_000
PERIOD_SECONDS: Final = 5.0
ROUNDS: Final = 3
SETTLE_SECONDS: Final = 18.0
MEASURED_SECONDS: Final = 10.0
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
    yield Figure("heartbeats of 10,000 Pods, events a CPU second", best, f"{best:,.0f}/s")
    share = uvloop.run(_followed())
    yield Figure("heartbeats of 10,000 Pods every 5 s over HTTPS, share of a core", share, f"{share:.1%}")


async def _followed() -> float:
    """Return the CPU seconds a second of a Berth that follows the canned API server, nothing else to do."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        leaf = trustme.CA().issue_cert("127.0.0.1")
        leaf.private_key_and_cert_chain_pem.write_to_path(folder / "pem")
        command = (sys.executable, "-m", "benchmarks.canned", str(folder / "pem"), str(folder / "pem"))
        server = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
        try:
            assert server.stdout is not None
            port = int(await server.stdout.readline())
            async with serving(_kubeconfig(folder, port)) as berth:
                await asyncio.sleep(SETTLE_SECONDS)
                view = berth.core.ingest.views["Pod"]
                cpu, began, version = time.process_time(), time.monotonic(), view.version
                await asyncio.sleep(MEASURED_SECONDS)
                cpu, took, events = time.process_time() - cpu, time.monotonic() - began, view.version - version
        finally:
            server.kill()
            await server.wait()
    # What the server could not send in time was not followed either.
    return cpu / events * PODS / PERIOD_SECONDS if events < took * PODS / PERIOD_SECONDS else cpu / took


def _kubeconfig(folder: Path, port: int) -> Path:
    cluster = {"server": f"https://127.0.0.1:{port}", "insecure-skip-tls-verify": True}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": cluster}],
        "users": [{"name": "bench", "user": {"token": "bench"}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(content))
    return path


def _feed(service: PlacementService, stream: list[bytes]) -> None:
    splitter, ingest = LineSplitter(), service.core.ingest
    for chunk in stream:
        for line in splitter.feed(chunk):
            ingest.apply(event_of("Pod", line))
        service.work.let_time_pass()


def _stream(kind: str, stamp: datetime, version: int) -> list[bytes]:
    lines = (
        json.dumps({"type": kind, "object": as_served(pod, format_time(stamp), str(version + number))}).encode()
        for number, pod in enumerate(pods(PODS))
    )
    data = b"\n".join(lines) + b"\n"
    return [data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)]


def as_served(pod: Json, stamp: str, version: str) -> Json:
    """Return a Pod with what an API server adds to it and Berth skips: about 4 KiB."""
    metadata = {**pod["metadata"], "resourceVersion": version, "managedFields": _MANAGED}
    container = {
        "name": "runtimed",
        "image": "registry.example.com/kruntimes/runtimed:1.0.0",
        "env": [{"name": f"SETTING_{number}", "value": "x" * 40} for number in range(12)],
        "volumeMounts": [{"name": "work", "mountPath": "/work"}, {"name": "token", "mountPath": "/token"}],
    }
    spec = {**pod["spec"], "containers": [container], "tolerations": [{"operator": "Exists"}]}
    ready, runtimed = pod["status"]["conditions"]
    conditions = [ready, {**runtimed, "lastProbeTime": stamp}]
    return {**pod, "metadata": metadata, "spec": spec, "status": {**pod["status"], "conditions": conditions}}


_FIELDS: Final[Json] = {f"f:field{number}": {f"f:part{part}": {} for part in range(6)} for number in range(12)}
_MANAGED: Final = [
    {"manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": _FIELDS}
    for manager in ("kubelet", "runtimed")
]
