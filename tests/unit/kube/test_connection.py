"""What goes along with a request to the API server."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import yaml
from aiohttp import web

from berth_server.kube.connection import Connection
from berth_server.kube.credentials import Source

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@asynccontextmanager
async def answering(seen: list[Mapping[str, str]], folder: Path) -> AsyncIterator[Source]:
    """Answer every request, keep its headers, and give the way there."""

    async def answer(request: web.BaseRequest) -> web.Response:
        seen.append(request.headers)
        return web.Response(text="{}")

    server = web.Server(answer)
    runner = web.ServerRunner(server)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield Source(str(_kubeconfig(runner.addresses[0][1], folder)))
    finally:
        await runner.cleanup()


def _kubeconfig(port: int, folder: Path) -> Path:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "c", "user": {"token": "secret"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(content))
    return path


async def test_the_trace_is_asked_for_each_request(tmp_path: Path) -> None:
    """Each request and each watch names the trace in which it is sent, beside everything else that it says."""
    seen: list[Mapping[str, str]] = []
    trace: dict[str, str] = {}
    async with answering(seen, tmp_path) as source, Connection(source, "berth-tests", lambda: trace) as connection:
        await connection.request("GET", "/")
        trace = {"traceparent": TRACEPARENT, "User-Agent": "somebody else"}
        await connection.request("PATCH", "/", body=b"{}")
        async with connection.stream("/", params={}, accept="application/json", silence=1.0):
            pass
    assert [headers.get("traceparent") for headers in seen] == [None, TRACEPARENT, TRACEPARENT]
    assert {headers["User-Agent"] for headers in seen} == {"berth-tests"}
    assert {headers["Authorization"] for headers in seen} == {"Bearer secret"}


async def test_nothing_is_traced_by_default(tmp_path: Path) -> None:
    """Whoever gives no trace sends none."""
    seen: list[Mapping[str, str]] = []
    async with answering(seen, tmp_path) as source, Connection(source, "berth-tests") as connection:
        await connection.request("GET", "/")
    assert "traceparent" not in seen[0]
