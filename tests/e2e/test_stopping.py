"""A server that is told to end: in order, in time, and nothing that it began is cut off."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from berth import run as run_item
from berth.v1 import placement_service_pb2 as placement_pb
from berth.v1.placement_service_pb2_grpc import PlacementServiceStub
from berth_server.app.serve import GRACE_SECONDS, SECOND_SIGNAL_EXIT
from berth_server.rpc.server import PLACEMENT
from tests.e2e.load import CALLERS, Load, write_cluster
from tests.e2e.process import ANY_PORT, DEADLINE, Process, process, serving

SIGNALS = [pytest.param(signal.SIGTERM, id="SIGTERM"), pytest.param(signal.SIGINT, id="Ctrl-C")]
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
NO_RETRIES = [("grpc.enable_retries", 0)]


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(
    "flags",
    [
        pytest.param([], id="quiet"),
        pytest.param(["--play", "--show"], id="living"),
        pytest.param(["--driver", "off"], id="no-driver"),
    ],
)
def test_it_ends_in_order(number: signal.Signals, flags: list[str], sockets: Path) -> None:
    """Exit code 0, nothing on stderr, no socket left behind."""
    path = sockets / "berth.sock"
    with serving("--listen", f"unix://{path}", *flags) as (server, _):
        server.signal(number)
        server.until("stopping")
        server.until("stopped")
        assert server.exit_code() == 0
        assert server.stderr() == ""
        assert not path.exists()


async def statuses(channel: grpc.aio.Channel) -> AsyncIterator[int]:
    """Watch the health of placement; ends with the stream."""
    watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service=PLACEMENT))
    with suppress(grpc.aio.AioRpcError):
        async for answer in watch:
            yield answer.status


async def test_no_bind_is_cut_off(tmp_path: Path) -> None:
    """Under load: health says NOT_SERVING, then each caller gets its answer or is refused before anything is begun."""
    cluster = tmp_path / "load.json"
    write_cluster(cluster)
    with serving("--driver", "off", cluster=cluster) as (server, address):
        async with grpc.aio.insecure_channel(address, options=NO_RETRIES) as channel:
            health = statuses(channel)
            assert await anext(health) == health_pb2.HealthCheckResponse.SERVING
            load = Load(channel)
            hammering = asyncio.create_task(load.run())
            await asyncio.wait_for(load.under_way.wait(), DEADLINE)
            server.signal(signal.SIGTERM)
            assert await asyncio.wait_for(anext(health), GRACE_SECONDS) == NOT_SERVING
            assert [status async for status in health] == [], "it is the last word"
            await asyncio.wait_for(hammering, DEADLINE)
            assert await asyncio.wait_for(asyncio.to_thread(server.exit_code), GRACE_SECONDS) == 0
    assert (load.plans_refused + load.binds_refused).total() == CALLERS
    assert {*load.plans_refused, *load.binds_refused} <= {"SHUTTING_DOWN", "not sent"}


async def waiting_call(channel: grpc.aio.Channel) -> asyncio.Task[placement_pb.ScoreResponse]:
    """Begin a call that waits for a version that never comes, and return once the server has it."""
    item = run_item("etl-orders", namespace="data", min_resource_version=str(10**9))
    stub = PlacementServiceStub(channel)

    async def ask() -> placement_pb.ScoreResponse:
        return await stub.Score(placement_pb.ScoreRequest(item=item), timeout=DEADLINE)

    call = asyncio.create_task(ask())
    await asyncio.sleep(0)  # it is sent
    # What is sent later on the same connection is answered after the server has begun the first.
    await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=DEADLINE)
    return call


async def test_a_second_signal_ends_it_at_once() -> None:
    """Also while a call is in progress that the first signal waits for."""
    with serving() as (server, address):
        async with grpc.aio.insecure_channel(address, options=NO_RETRIES) as channel:
            call = await waiting_call(channel)
            server.signal(signal.SIGTERM)
            await asyncio.to_thread(server.until, "stopping")
            assert server.popen.poll() is None
            assert not call.done()
            server.signal(signal.SIGTERM)
            assert await asyncio.to_thread(server.exit_code) == SECOND_SIGNAL_EXIT
            with pytest.raises(grpc.aio.AioRpcError):
                await call
    assert '"msg": "stopped"' not in "".join(server.said)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_during_the_start_ends_it_at_once(number: signal.Signals) -> None:
    """While it reads a cluster from a pipe that does not end. There is no traceback."""
    with process("--cluster", "-", "--listen", ANY_PORT, "--metrics-listen", "off") as server:
        until_it_reads(server)
        server.signal(number)
        assert server.exit_code() == -number
        assert server.said == []
        assert server.stderr() == ""


def until_it_reads(server: Process) -> None:
    """Return once the server has read something of its standard input: a pipe holds no more than 64 KiB."""
    assert server.popen.stdin is not None
    server.popen.stdin.write("#" * 2**20)
    server.popen.stdin.flush()
