"""Serves the quickstart cluster, lets Berth place what it can, and compares the outcome with `quickstart.golden`.

    python examples/demo.py [--golden check|update]

What is printed above the line is the golden text; below it, one Score call without generated code: the messages are
built from what the server tells by gRPC reflection. Exits 1 on any difference, after a diff.
"""

import argparse
import asyncio
import difflib
import json
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import json_format
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from berth import Client
from berth.v1.inspection_service_pb2 import CandidateSummary, RunSummary

HERE = Path(__file__).parent
CLUSTER = HERE / "quickstart.yaml"
GOLDEN = HERE / "quickstart.golden"
ASKED = {"item": {"run": {"namespace": "data", "name": "infer-batch"}}, "limit": 2}
WIDTH = 110
START_SECONDS = 30
QUIET_SECONDS = 20
STOP_SECONDS = 10
BUSY = ("pending_active", "pending_in_flight", "pending_backoff")


class DemoError(Exception):
    """The demo does not do what it should."""


@asynccontextmanager
async def server(cluster: Path) -> AsyncIterator[str]:
    """Run berth-server on a free port and yield its address. Raises DemoError if it does not start or end well."""
    command = [sys.executable, "-m", "berth_server", "serve", "--cluster", str(cluster)]
    flags = ["--listen", "127.0.0.1:0", "--metrics-listen", "off", "--log-format", "json"]
    process = await asyncio.create_subprocess_exec(*command, *flags, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield await asyncio.wait_for(_address(process.stdout), START_SECONDS)
        process.send_signal(signal.SIGTERM)
        # Read on, or a full pipe would keep it from ending.
        await asyncio.wait_for(process.communicate(), STOP_SECONDS)
        if process.returncode != 0:
            raise DemoError(f"the server ended with exit code {process.returncode}")
    except TimeoutError:
        raise DemoError("the server did not start, or did not end, in time") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _address(lines: asyncio.StreamReader) -> str:
    async for line in lines:
        said = json.loads(line)
        if said["msg"] == "serving":
            return str(said["listen"][0])
    raise DemoError("the server ended before it served")


async def until_quiet(client: Client) -> None:
    """Wait until nothing is left that Berth could do by itself."""
    async with asyncio.timeout(QUIET_SECONDS):
        while True:
            counts = (await client.server_info()).counts
            reserved = sum(count for name, count in counts.items() if name.startswith("reservations_"))
            if not reserved and not any(counts[name] for name in BUSY):
                return
            await asyncio.sleep(0.05)


async def outcome(client: Client) -> str:
    """Return the golden text: what is on each Pod, and why the rest is nowhere."""
    info = await client.server_info()
    runs = (await client.list_runs(page_size=1000)).runs
    pods = (await client.list_candidates(page_size=1000)).candidates
    reasons = [
        (run, await reason(client, run))
        for run in runs
        if not run.HasField("assigned") and (run.message or run.phase == "Pending")
    ]
    lines = [
        f"{len(runs)} Runs and {len(pods)} Runtime Pods as of {info.as_of.ToJsonString()}",
        *("", "RUNTIME POD    RUNS"),
        *(line for pod in pods for line in _row(f"{pod.namespace}/{pod.candidate.name}", 15, _there(pod, runs))),
        *("", "RUN                     NOT PLACED BECAUSE"),
        *(line for run, why in reasons for line in _row(f"{run.key.namespace}/{run.key.name}", 24, why)),
    ]
    return "\n".join(lines) + "\n"


def _there(pod: CandidateSummary, runs: Sequence[RunSummary]) -> str:
    here = (pod.namespace, pod.candidate.uid)
    names = [run.key.name for run in runs if run.HasField("assigned") and (run.key.namespace, run.assigned.uid) == here]
    return ", ".join(names) or (f"- ({pod.reason})" if pod.reason else "-")


async def reason(client: Client, run: RunSummary) -> str:
    """Return why a Run is on no Pod: what its status says, or for one that waits what a dry run says now."""
    if run.phase != "Pending":
        return f"{run.phase}: {run.message}"
    answer = await client.plan(f"{run.key.namespace}/{run.key.name}", dry_run=True)
    match answer.WhichOneof("result"):
        case "unschedulable":
            return answer.diagnosis.message
        case "ineligible":
            return answer.ineligible.detail
        case other:
            raise DemoError(f"{run.key.name} waits, but could be placed: {other}")


def _row(name: str, width: int, text: str) -> Iterator[str]:
    first, *others = textwrap.wrap(text, WIDTH - width, break_long_words=False, break_on_hyphens=False)
    yield f"{name.ljust(width)}{first}"
    yield from (f"{'':{width}}{line}" for line in others)


def score_by_reflection(address: str, request: dict[str, Any]) -> str:
    """Call Score as a program would that has no generated code, and return the answer as JSON."""
    with grpc.insecure_channel(address) as channel:
        pool = DescriptorPool(ProtoReflectionDescriptorDatabase(channel))
        method = pool.FindServiceByName("berth.v1.PlacementService").FindMethodByName("Score")
        call: Callable[..., Any] = channel.unary_unary(
            "/berth.v1.PlacementService/Score",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
        answer = call(json_format.ParseDict(request, GetMessageClass(method.input_type)()), timeout=10)
    return json_format.MessageToJson(answer, descriptor_pool=pool)


def differences(want: str, got: str) -> str:
    """Return a unified diff, empty when there is none."""
    lines = difflib.unified_diff(
        want.splitlines(keepends=True), got.splitlines(keepends=True), GOLDEN.name, "what the server did"
    )
    return "".join(lines)


async def demo(*, update: bool) -> None:
    """Run the demo. Raises DemoError for what is not as it should be."""
    async with server(CLUSTER) as address, Client(address) as client:
        await until_quiet(client)
        got = await outcome(client)
        print(got, end="")
        scored = await asyncio.to_thread(score_by_reflection, address, ASKED)
        print(f"{'-' * WIDTH}\nScore, by reflection: {json.dumps(ASKED)}\n{scored}")
    if update:
        GOLDEN.write_text(got, encoding="utf-8")
        print(f"demo: {GOLDEN.name} is written anew")
        return
    found = differences(GOLDEN.read_text(encoding="utf-8"), got)
    if found:
        raise DemoError(f"the outcome differs from {GOLDEN.name}:\n{found}")
    print(f"demo: ok, the outcome is byte for byte {GOLDEN.name}")


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description="Serve the quickstart cluster and compare its outcome.")
    parser.add_argument("--golden", choices=("check", "update"), default="check")
    try:
        asyncio.run(demo(update=parser.parse_args().golden == "update"))
    except DemoError as error:
        sys.exit(f"demo: {error}")


if __name__ == "__main__":
    main()
