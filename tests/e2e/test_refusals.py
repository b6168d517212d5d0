"""What can't be served is said in one sentence, and the exit code tells whether the command line itself was wrong."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from tests import needs
from tests.e2e.process import ANY_PORT, QUICKSTART, Process, process, serving
from tests.e2e.test_serving import check_health

FREE_PORTS = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")

# Runs a command without what lets root bind low ports (10) and write anywhere (1).
WITHOUT_PRIVILEGES = (
    sys.executable,
    "-c",
    """
import ctypes, os, sys
libc = ctypes.CDLL(None)
for capability in (1, 10):
    libc.prctl(24, capability, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
""",
)


def refusal(server: Process) -> str:
    """Return the only line of stderr of a server that could not start."""
    assert server.exit_code() == 1
    assert server.said == []
    (line,) = server.stderr().splitlines()
    assert line.startswith("berth-server: ")
    return line.removeprefix("berth-server: ")


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port that something else listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def flags(**given: str) -> list[str]:
    """Return the flags of a server that would start, but for those that are given."""
    usual = {"cluster": str(QUICKSTART), "listen": ANY_PORT, "metrics_listen": "off"}
    return [f"--{name.replace('_', '-')}={value}" for name, value in {**usual, **given}.items()]


@pytest.mark.parametrize(
    ("given", "want_sentence"),
    [
        pytest.param({"driver": "sideways"}, "--driver: must be in-process or off, not 'sideways'", id="choice"),
        pytest.param({"listen": "50051"}, "--listen: must be host:port, such as 127.0.0.1:50051", id="address"),
        pytest.param({"listen": "0.0.0.0:0"}, "cannot listen on 0.0.0.0:0: without authentication only", id="public"),
        pytest.param({"play": "soon"}, "--play: must be a duration above 0 such as 20s, not 'soon'", id="duration"),
        pytest.param({"as_of": "noon"}, "--as-of: must be now or an instant such as", id="instant"),
        pytest.param({"config": "/no/such/file"}, "/no/such/file: no such file or directory", id="no-config"),
        pytest.param({"cluster": "/no/such.yaml"}, "/no/such.yaml: No such file or directory", id="no-manifest"),
    ],
)
def test_a_wrong_value_is_named(given: dict[str, str], want_sentence: str) -> None:
    """Which flag or file, and what it must be."""
    with process(*flags(**given)) as server:
        assert refusal(server).startswith(want_sentence)


@pytest.mark.parametrize(
    ("content", "want_sentence"),
    [
        pytest.param("a: [1,\n", "{file}: ", id="broken-yaml"),
        pytest.param("", "{file}: there is no Kubernetes object in it", id="empty"),
        pytest.param("apiVersion: v1\nkind: Pod\n", "{file}: ", id="nameless"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_named(content: str, want_sentence: str, tmp_path: Path) -> None:
    """With the file, and where in it where that is known."""
    manifest = tmp_path / "cluster.yaml"
    manifest.write_text(content, encoding="utf-8")
    with process(*flags(cluster=str(manifest))) as server:
        assert refusal(server).startswith(want_sentence.format(file=manifest))


def test_a_wrong_command_line_is_a_usage_error() -> None:
    """Exit code 2, as is the custom, and a hint to the help."""
    with process("--cloister", "file.yaml") as server:
        assert server.exit_code() == 2
        assert server.stderr().splitlines()[-1].startswith("Error: No such option")


def test_two_servers_do_not_share_a_port() -> None:
    """The second one says so; the first one lives on."""
    with serving() as (_, address):
        with process(*flags(listen=address)) as second:
            assert refusal(second) == f"cannot listen on {address}: address already in use"
        with grpc.insecure_channel(address) as channel:
            assert check_health(channel) == "SERVING"


def test_the_port_of_the_metrics_may_be_taken(taken_port: int) -> None:
    """Then nothing is served at all, rather than without metrics."""
    where = f"127.0.0.1:{taken_port}"
    with process(*flags(metrics_listen=where)) as server:
        assert refusal(server) == f"cannot serve metrics on {where}: address already in use"


def test_a_socket_that_nobody_listens_on_is_replaced(sockets: Path) -> None:
    """What a server leaves behind that was killed is in nobody's way."""
    path = sockets / "berth.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with serving("--listen", f"unix://{path}"), grpc.insecure_channel(f"unix://{path}") as channel:
        assert check_health(channel) == "SERVING"


def test_a_socket_in_use_is_left_to_its_owner(sockets: Path) -> None:
    """The second server says so; the first one can still be reached there."""
    address = f"unix://{sockets / 'berth.sock'}"
    with serving("--listen", address):
        with process(*flags(listen=address)) as second:
            assert refusal(second) == f"cannot listen on {address}: another server is listening there"
        with grpc.insecure_channel(address) as channel:
            assert check_health(channel) == "SERVING"


def test_a_port_that_one_may_not_have() -> None:
    """Low ports are for root."""
    if not FREE_PORTS.exists() or int(FREE_PORTS.read_text()) <= 81:
        needs.skip("this system gives low ports to everybody")
    with process(*flags(listen="127.0.0.1:81"), wrapper=WITHOUT_PRIVILEGES) as server:
        assert refusal(server) == "cannot listen on 127.0.0.1:81: permission denied"


def test_a_folder_that_one_may_not_write_to(sockets: Path) -> None:
    """No socket can be made there."""
    sockets.chmod(0o500)
    address = f"unix://{sockets / 'berth.sock'}"
    with process(*flags(listen=address), wrapper=WITHOUT_PRIVILEGES) as server:
        assert refusal(server) == f"cannot listen on {address}: permission denied"
