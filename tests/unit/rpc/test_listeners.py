"""Ports and sockets: opened, shared by nobody, and refused in one sentence."""

import contextlib
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import grpc.aio
import pytest

from berth_server.config.addresses import ListenAddress, TcpAddress, UnixAddress
from berth_server.rpc.listeners import ListenError, check_addresses
from tests.unit.rpc.rig import ANY_PORT, build, serving, socket_in

NOBODY = 65534


async def test_listens_on_a_port_and_a_socket_at_once(tmp_path: Path) -> None:
    """All addresses serve, and the one with port 0 says which port it got."""
    server = build([ANY_PORT, socket_in(tmp_path)])
    await server.start()
    try:
        tcp, unix = server.addresses
        assert isinstance(tcp, TcpAddress)
        assert tcp.port > 0
        for address in (tcp, unix):
            async with grpc.aio.insecure_channel(str(address)) as channel:
                await channel.channel_ready()
    finally:
        await server.stop(5)


async def test_only_owner_and_group_may_use_the_socket(tmp_path: Path) -> None:
    """The mode of the file is what guards a server without authentication."""
    async with serving(socket_in(tmp_path)):
        assert stat.S_IMODE((tmp_path / "berth.sock").stat().st_mode) == 0o660


async def test_a_port_in_use_is_refused() -> None:
    """A second server on one port is an error, not a quiet sharing of calls."""
    async with serving() as rig:
        address = rig.server.addresses[0]
        with pytest.raises(ListenError) as caught:
            build([address])
        assert str(caught.value) == f"cannot listen on {address}: address already in use"


async def test_a_live_socket_is_refused_and_left_alone(tmp_path: Path) -> None:
    """A second server must not take the first one's clients away."""
    async with serving(socket_in(tmp_path)) as rig:
        with pytest.raises(ListenError) as caught:
            build([socket_in(tmp_path)])
        assert str(caught.value) == f"cannot listen on {socket_in(tmp_path)}: another server is listening there"
        assert await rig.health("") == "SERVING"


async def test_a_dead_socket_file_is_replaced(tmp_path: Path) -> None:
    """What a killed server left behind is in nobody's way."""
    _leave_dead_socket(tmp_path / "berth.sock")
    async with serving(socket_in(tmp_path)) as rig:
        assert await rig.health("") == "SERVING"


async def test_nothing_is_opened_when_one_address_is_refused(tmp_path: Path) -> None:
    """A refusal leaves no listener behind."""
    async with serving() as rig:
        with pytest.raises(ListenError):
            build([socket_in(tmp_path), rig.server.addresses[0]])
        assert not (tmp_path / "berth.sock").exists()


@pytest.mark.parametrize(
    "address",
    [
        pytest.param(TcpAddress("0.0.0.0", 50051), id="every-address"),  # noqa: S104 - refused
        pytest.param(TcpAddress("::", 50051), id="every-address-v6"),
        pytest.param(TcpAddress("10.1.2.3", 50051), id="an-address-of-the-network"),
        pytest.param(TcpAddress("example.com", 50051), id="a-name"),
    ],
)
def test_only_loopback_without_authentication(address: TcpAddress) -> None:
    """Nobody can be let in from the network before it is known who they are."""
    with pytest.raises(ListenError) as caught:
        check_addresses([address])
    assert str(caught.value) == (
        f"cannot listen on {address}: without authentication only loopback addresses and unix sockets are allowed,"
        " such as 127.0.0.1:50051"
    )


def test_any_address_with_authentication() -> None:
    """The rule is about authentication, not about addresses."""
    check_addresses([TcpAddress("0.0.0.0", 0)], authenticated=True)  # noqa: S104 - tried and closed at once


@pytest.mark.parametrize(
    ("address", "want"),
    [
        pytest.param(TcpAddress("192.0.2.1", 0), "cannot assign requested address", id="not-of-this-machine"),
        pytest.param(TcpAddress("no-such-host.invalid", 1), "the host is unknown", id="unknown-host"),
        pytest.param(UnixAddress(Path("/no/such/directory/s")), "no such file or directory", id="no-directory"),
        pytest.param(UnixAddress(Path("/") / ("x" * 200)), "af_unix path too long", id="long-path"),
    ],
)
def test_an_impossible_address_is_one_sentence(address: ListenAddress, want: str) -> None:
    """The operator reads which address, and what the system says of it."""
    with pytest.raises(ListenError) as caught:
        check_addresses([address], authenticated=True)
    assert str(caught.value) == f"cannot listen on {address}: {want}"


def test_a_file_that_is_no_socket_stays(tmp_path: Path) -> None:
    """Somebody's file is never removed."""
    path = tmp_path / "notes.txt"
    path.write_text("keep")
    with pytest.raises(ListenError, match="a file that is no socket is there"):
        check_addresses([UnixAddress(path)])
    assert path.read_text() == "keep"


@pytest.mark.usefixtures("unprivileged")
def test_a_port_without_permission_is_refused() -> None:
    """Low ports are for root, where the system says so."""
    first_free = int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text())
    if first_free <= 1:
        pytest.skip("this system gives low ports to everybody")
    with pytest.raises(ListenError, match=r"cannot listen on 127\.0\.0\.1:1: permission denied"):
        check_addresses([TcpAddress("127.0.0.1", 1)])


@pytest.mark.usefixtures("unprivileged")
def test_a_directory_without_permission_is_refused() -> None:
    """A socket needs a directory that may be written."""
    with pytest.raises(ListenError) as caught:
        check_addresses([socket_in(Path("/"))])
    assert str(caught.value) == "cannot listen on unix:///berth.sock: permission denied"


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6], ids=["v4", "v6"])
def test_a_name_is_refused_when_one_of_its_addresses_is_taken(family: socket.AddressFamily) -> None:
    """Listening on the other address alone, as gRPC does, would send half of the callers to somebody else."""
    with contextlib.ExitStack() as stack:
        taken = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
        try:
            taken.bind(("localhost", 0))
        except OSError:
            pytest.skip("localhost has no address of this family here")
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ListenError, match="address already in use"):
            check_addresses([TcpAddress("localhost", port)])


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """The rights of nobody, for as long as the test runs, if it runs as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def _leave_dead_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(path))
        dead.listen()
