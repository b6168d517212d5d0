"""A program that stands for an API server with 10,000 Runtime Pods, each with a heartbeat every 5 s, and nothing else.

`python -m benchmarks.canned CERTIFICATE KEY` serves HTTPS on a free port of loopback, which it prints. Every event is
sent by itself, as an API server does.
"""

import asyncio
import json
import ssl
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import uvloop
from aiohttp import web

from benchmarks.watching import PERIOD_SECONDS, PODS, as_served
from benchmarks.worlds import pods
from berth_server.objects.timestamps import format_time

_EVENTS_A_TURN: Final = 4
_STAMP, _VERSION = "STAMP", "VERSION"


class Canned:
    """The Pods as pieces of JSON, between which the stamp and the version of an event go."""

    def __init__(self) -> None:
        self._pieces = [
            json.dumps(as_served(pod, _STAMP, _VERSION)).encode().replace(_STAMP.encode(), _VERSION.encode())
            for pod in pods(PODS)
        ]
        self._split = [piece.split(_VERSION.encode()) for piece in self._pieces]
        self._version = PODS

    def listed(self, start: int, limit: int) -> bytes:
        """Return a page of the list."""
        rest = str(start + limit) if start + limit < PODS else ""
        metadata = json.dumps({"resourceVersion": str(self._version), "continue": rest}).encode()
        items = b",".join(self._filled(number, number + 1) for number in range(start, min(start + limit, PODS)))
        return b'{"metadata":' + metadata + b',"items":[' + items + b"]}"

    def events(self) -> Iterator[bytes]:
        """Yield heartbeats, of one Pod after another."""
        while True:
            for number in range(PODS):
                self._version += 1
                yield b'{"type":"MODIFIED","object":' + self._filled(number, self._version) + b"}\n"

    def _filled(self, number: int, version: int) -> bytes:
        before, between, after = self._split[number]
        stamp = format_time(datetime.now(UTC)).encode()
        return before + str(version).encode() + between + stamp + after


async def answer(request: web.Request) -> web.StreamResponse:
    """Answer a list or a watch of any kind."""
    canned, are_pods = request.app[CANNED], request.path.endswith("/pods")
    if "watch" not in request.query:
        start, limit = int(request.query.get("continue") or 0), int(request.query["limit"])
        body = canned.listed(start, limit) if are_pods else b'{"metadata":{"resourceVersion":"1"},"items":[]}'
        return web.Response(body=body, content_type="application/json")
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    if are_pods:
        await _beat(canned, response)
    await asyncio.Event().wait()
    return response


async def _beat(canned: Canned, response: web.StreamResponse) -> None:
    clock = asyncio.get_running_loop().time
    due = clock()
    for number, event in enumerate(canned.events()):
        if number % _EVENTS_A_TURN == 0:
            due += _EVENTS_A_TURN * PERIOD_SECONDS / PODS
            await asyncio.sleep(max(due - clock(), 0.0))
        await response.write(event)


CANNED: Final = web.AppKey("canned", Canned)


async def serve(certificate: str, key: str) -> None:
    """Serve until killed."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    app = web.Application()
    app[CANNED] = Canned()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1], sys.argv[2]))
