"""Where to listen, as text and as values. Opening a socket is not done here."""

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_TCP: Final = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.%]+)\]|(?P<host>[^\[\]:/]*)):(?P<port>[0-9]{1,5})")
_UNIX: Final = "unix://"
_MAX_PORT: Final = 65_535


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A host (a name, or an address without brackets) and a port; port 0 lets the system choose."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Only processes of this machine can reach it. A name other than localhost is not looked up: False."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """A unix socket, by absolute path."""

    path: Path

    def __str__(self) -> str:
        return f"{_UNIX}{self.path}"


ListenAddress = TcpAddress | UnixAddress


def parse_tcp_address(text: str) -> TcpAddress:
    """Read `host:port`. Raises ValueError with what it must look like."""
    match = _TCP.fullmatch(text)
    if match is None or int(match["port"]) > _MAX_PORT:
        raise ValueError(f"must be host:port, such as 127.0.0.1:50051, not {text!r}")
    host = match["six"] or match["host"]
    if not host:
        raise ValueError(f"must name a host before the port, such as 127.0.0.1{text} or 0.0.0.0{text}")
    return TcpAddress(host, int(match["port"]))


def parse_listen_address(text: str) -> ListenAddress:
    """Read `host:port` or `unix:///path`. Raises ValueError with what it must look like."""
    if not text.startswith("unix:"):
        return parse_tcp_address(text)
    path = Path(text.removeprefix(_UNIX))
    if not text.startswith(_UNIX) or not path.is_absolute():
        raise ValueError(f"must be unix:// and an absolute path, such as unix:///run/berth/berth.sock, not {text!r}")
    return UnixAddress(path)
