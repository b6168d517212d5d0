"""Opens the server's ports and sockets, and says in one sentence why one can't be opened.

gRPC would say "failed to bind" and no more, and would take a live unix socket away from its owner: so each address is
tried with a plain socket first. Between that try and gRPC's own bind another process may win: then gRPC's refusal is
what the operator reads.
"""

import errno
import os
import socket
import stat
from collections.abc import Iterable
from typing import Final

import grpc.aio

from berth_server.config.addresses import ListenAddress, TcpAddress, UnixAddress

SOCKET_MODE: Final = 0o660
_PROBE_SECONDS: Final = 1.0
_NOT_HERE: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


class ListenError(Exception):
    """An address can't be listened on. The message is one sentence for the operator."""


def check_addresses(addresses: Iterable[ListenAddress], *, authenticated: bool = False) -> None:
    """Try every address before any is opened; remove a socket file that nobody listens on. Raises ListenError."""
    for address in addresses:
        if isinstance(address, UnixAddress):
            _check_unix(address)
            continue
        if not authenticated and not address.is_loopback:
            raise ListenError(
                f"cannot listen on {address}: without authentication only loopback addresses and unix sockets are"
                f" allowed, such as 127.0.0.1:{address.port}"
            )
        _check_tcp(address)


def open_address(server: grpc.aio.Server, address: ListenAddress) -> ListenAddress:
    """Let `server` listen on `address` and return it with its real port. Raises ListenError."""
    try:
        port = server.add_insecure_port(str(address))
    except RuntimeError as error:
        raise ListenError(f"cannot listen on {address}: the system refused it") from error
    if isinstance(address, TcpAddress):
        return TcpAddress(address.host, port)
    address.path.chmod(SOCKET_MODE)  # gRPC makes it 0755
    return address


def _check_tcp(address: TcpAddress) -> None:
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise ListenError(f"cannot listen on {address}: the host is unknown") from error
    absent = 0
    for family, kind, protocol, _, where in found:
        try:
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(where)
        except OSError as error:
            # A name such as localhost may stand for an address family that this machine lacks.
            absent += error.errno in _NOT_HERE
            if error.errno not in _NOT_HERE or absent == len(found):
                raise _refusal(address, error) from error


def _check_unix(address: UnixAddress) -> None:
    _remove_dead_socket(address)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(os.fspath(address.path))
        except OSError as error:
            raise _refusal(address, error) from error
    address.path.unlink()


def _remove_dead_socket(address: UnixAddress) -> None:
    path = address.path
    try:
        mode = path.lstat().st_mode
    except OSError:
        return  # it does not exist, or binding will say what is wrong with the way to it
    if not stat.S_ISSOCK(mode):
        raise ListenError(f"cannot listen on {address}: a file that is no socket is there")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_SECONDS)
        try:
            probe.connect(os.fspath(path))
        except ConnectionRefusedError:
            path.unlink()
        except OSError as error:
            raise _refusal(address, error) from error
        else:
            raise ListenError(f"cannot listen on {address}: another server is listening there")


def _refusal(address: ListenAddress, error: OSError) -> ListenError:
    reason = (error.strerror or str(error)).lower()
    return ListenError(f"cannot listen on {address}: {reason}")
