"""A cluster with room for everything, and callers that plan and bind its Runs one after another until refused."""

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import grpc.aio
from google.rpc import error_details_pb2, status_pb2

from berth import run as run_item
from berth.v1 import placement_service_pb2 as placement_pb
from berth.v1.placement_service_pb2_grpc import PlacementServiceStub

PODS: Final = 20
RUNS: Final = 4000
CALLERS: Final = 16
_AS_OF: Final = "2026-01-01T00:00:00Z"


def write_cluster(path: Path) -> None:
    """Write more Runs than a test can place before it ends, and Pods that could take them all."""
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"p-{number}",
                "namespace": "load",
                "uid": f"pod-{number}",
                "labels": {"runtime": "python"},
                "annotations": {"kruntimes.io/capacity.runs": str(RUNS)},
            },
            "spec": {"nodeName": "n"},
            "status": {
                "phase": "Running",
                "conditions": [
                    {"type": "Ready", "status": "True"},
                    {"type": "kruntimes.io/RuntimedReady", "status": "True", "lastProbeTime": _AS_OF},
                ],
            },
        }
        for number in range(PODS)
    ]
    runs = [
        {
            "apiVersion": "kruntimes.io/v1alpha1",
            "kind": "Run",
            "metadata": {"name": f"r-{number}", "namespace": "load", "uid": f"run-{number}"},
            "spec": {"runtime": "python"},
        }
        for number in range(RUNS)
    ]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*pods, *runs]}), encoding="utf-8")


@dataclass
class Load:
    """What became of the calls: `bound` Runs, and how the last call of each caller ended."""

    channel: grpc.aio.Channel
    bound: int = 0
    under_way: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once some Runs are bound."""
    plans_refused: Counter[str] = field(default_factory=Counter)
    binds_refused: Counter[str] = field(default_factory=Counter)

    async def run(self) -> None:
        """Let all callers go on until each is refused."""
        numbers = iter(range(RUNS))
        await asyncio.gather(*(self._caller(PlacementServiceStub(self.channel), numbers) for _ in range(CALLERS)))

    async def _caller(self, stub: PlacementServiceStub, numbers: Any) -> None:
        for number in numbers:
            item = run_item(f"r-{number}", namespace="load", uid=f"run-{number}")
            try:
                planned = await stub.Plan(placement_pb.PlanRequest(item=item), timeout=30)
            except grpc.aio.AioRpcError as error:
                self.plans_refused[_why(error)] += 1
                return
            assert planned.WhichOneof("result") == "reserved"
            try:
                await stub.Bind(placement_pb.BindRequest(reservation_id=planned.reserved.id), timeout=30)
            except grpc.aio.AioRpcError as error:
                self.binds_refused[_why(error)] += 1
                return
            self.bound += 1
            if self.bound >= 10 * CALLERS:
                self.under_way.set()
        raise AssertionError("the cluster is too small: nothing was left to bind before the server ended")


def _why(error: grpc.aio.AioRpcError) -> str:
    """Name what the caller was told: the server's own reason, `not sent`, or else what looks like a call cut off."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            for packed in status_pb2.Status.FromString(value).details:
                info = error_details_pb2.ErrorInfo()
                if packed.Unpack(info):
                    return str(info.reason)
    details = error.details() or ""
    return "not sent" if "failed to connect" in details.lower() else f"{error.code().name}: {details}"
