"""What a process serves, and where."""

import stat
import subprocess
from pathlib import Path

import grpc
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from berth import Client
from tests.e2e.process import COMMAND, DEADLINE, environment, serving

SERVICES = ["berth.v1.InspectionService", "berth.v1.PlacementService"]


def check_health(channel: grpc.Channel, service: str = "") -> str:
    """Ask for the health of a service, and return the name of the answer."""
    answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=service), timeout=DEADLINE)
    return str(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))


async def test_a_port_and_a_socket_serve_the_same(sockets: Path) -> None:
    """One process, two addresses; the socket is for its owner and group."""
    path = sockets / "berth.sock"
    with serving("--listen", f"unix://{path}") as (server, _):
        answers = []
        for address in server.listen:
            async with Client(address) as client:
                answers.append(await client.server_info())
        assert [answer.counts["runs"] for answer in answers] == [70, 70]
        assert len({answer.instance for answer in answers}) == 1
        assert stat.S_IMODE(path.stat().st_mode) == 0o660


def test_health_and_reflection() -> None:
    """Both services and the writer are healthy; a client without proto files finds the services and their methods."""
    with serving() as (_, address), grpc.insecure_channel(address) as channel:
        for service in ("", *SERVICES, "berth.v1.Writer"):
            assert check_health(channel, service) == "SERVING"
        database = ProtoReflectionDescriptorDatabase(channel)
        assert [name for name in database.get_services() if name.startswith("berth.")] == SERVICES
        methods = DescriptorPool(database).FindServiceByName("berth.v1.PlacementService").methods_by_name
        assert {"Filter", "Score", "Plan", "PlanBatch", "Reserve", "Release", "Bind"} == set(methods)


def test_a_reader_serves_without_deciding() -> None:
    """It answers, but is not the one that writes, and what waits goes on waiting."""
    with serving("--role", "reader") as (_, address), grpc.insecure_channel(address) as channel:
        assert check_health(channel, "berth.v1.PlacementService") == "SERVING"
        assert check_health(channel, "berth.v1.Writer") == "NOT_SERVING"


def test_without_reflection_there_is_none() -> None:
    """The flag switches it off."""
    with serving("--reflection", "false") as (_, address), grpc.insecure_channel(address) as channel:
        with pytest.raises(grpc.RpcError) as caught:
            ProtoReflectionDescriptorDatabase(channel).get_services()
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_it_shows_what_it_serves() -> None:
    """The picture for a person comes by itself, also into a pipe."""
    with serving("--show") as (server, address):
        while (line := server.line()) is not None and "PlacementService/Score" not in line:
            pass
        shown = "\n".join(server.said)
        assert "WAITING RUN" in shown
        assert f"    {address} berth.v1.PlacementService/Score" in shown


@pytest.mark.parametrize("flags", [["--version"], ["--help"], ["serve", "--help"]], ids=" ".join)
def test_asking_the_command_itself(flags: list[str]) -> None:
    """Version and help are on stdout, and fine."""
    done = subprocess.run(  # noqa: S603 -- flags of the tests
        [COMMAND, *flags], capture_output=True, text=True, timeout=DEADLINE, check=True, env=environment()
    )
    assert done.stdout.startswith(("Usage: berth-server", "berth-server, version "))
    assert done.stderr == ""
