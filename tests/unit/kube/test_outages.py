"""What it means that no answer came, asked of servers and proxies that behave so."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from berth_server.kube.connection import Connection
from berth_server.kube.credentials import Source
from berth_server.kube.verdicts import UnavailableError
from berth_server.placement.ports import RefusedError

TOKEN, PASSWORD = "the-token", "the-password"
GARBAGE = b"garbage\r\n\r\n"
DENIED = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"


@asynccontextmanager
async def saying(answer: bytes) -> AsyncIterator[int]:
    """Listen, and answer each first request with these bytes; yield the port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.parametrize(
    ("answer", "cluster", "want_type", "want"),
    [
        pytest.param(
            GARBAGE,
            lambda port: {"server": f"http://127.0.0.1:{port}"},
            UnavailableError,
            "the answer of http://127.0.0.1:{port} is no HTTP: ",
            id="no HTTP",
        ),
        pytest.param(
            b"",
            lambda port: {"server": f"http://127.0.0.1:{port}"},
            UnavailableError,
            "the connection to http://127.0.0.1:{port} was lost: ServerDisconnectedError",
            id="no answer",
        ),
        pytest.param(
            GARBAGE,
            lambda port: {"server": f"https://127.0.0.1:{port}"},
            RefusedError,
            "no connection to https://127.0.0.1:{port}: [SSL",
            id="no TLS",
        ),
        pytest.param(
            b"",
            lambda port: {"server": "https://127.0.0.1:1"},
            RefusedError,
            "no connection to https://127.0.0.1:1: Connect call failed",
            id="nobody listens",
        ),
        pytest.param(
            DENIED,
            lambda port: {"server": "https://api.example", "proxy-url": f"http://u:{PASSWORD}@127.0.0.1:{port}"},
            RefusedError,
            "no connection to https://api.example: the proxy 127.0.0.1:{port} answers 407 Proxy Authentication Req",
            id="the proxy denies",
        ),
        pytest.param(
            GARBAGE,
            lambda port: {"server": "https://api.example", "proxy-url": f"http://u:{PASSWORD}@127.0.0.1:{port}"},
            UnavailableError,
            "the answer of https://api.example is no HTTP: ",
            id="the proxy speaks no HTTP",
        ),
        pytest.param(
            b"",
            lambda port: {"server": "https://api.example", "proxy-url": f"http://u:{PASSWORD}@127.0.0.1:1"},
            RefusedError,
            "no connection to https://api.example: the proxy 127.0.0.1:1 can't be reached: Connect call failed",
            id="no proxy",
        ),
    ],
)
async def test_no_answer(
    tmp_path: Path, answer: bytes, cluster: Callable[[int], dict[str, str]], want_type: type[Exception], want: str
) -> None:
    """One sentence, without credentials, that tells whether anything was sent."""
    async with saying(answer) as port:
        content = {
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": cluster(port)}],
            "users": [{"name": "c", "user": {"token": TOKEN}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        }
        path = tmp_path / "config"
        path.write_text(yaml.safe_dump(content))
        async with Connection(Source(str(path)), "berth-tests") as connection:
            with pytest.raises(want_type) as raised:
                await connection.request("GET", "/version")
    said = str(raised.value)
    assert said.startswith(want.format(port=port))
    assert TOKEN not in said
    assert PASSWORD not in said
    assert "dTp0aGUtcGFzc3dvcmQ=" not in said, "user and password as a header"
