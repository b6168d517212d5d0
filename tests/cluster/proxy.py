"""A proxy in front of the API server that does to chosen requests what networks do.

One connection carries one request. What a test does not choose passes unchanged, watches too.
"""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import msgspec

from tests.cluster.processes import Cluster, unverified


@dataclass(frozen=True)
class Request:
    """What the client sent."""

    method: str
    target: str
    head: bytes
    body: bytes

    @property
    def is_watch(self) -> bool:
        """Whether the answer is a stream of events."""
        return "watch=1" in self.target

    def is_watch_of(self, plural: str) -> bool:
        """Whether it watches that kind."""
        return self.is_watch and f"/{plural}?" in self.target

    def is_list_of(self, plural: str) -> bool:
        """Whether it lists that kind."""
        return self.method == "GET" and not self.is_watch and f"/{plural}?" in self.target

    @property
    def is_assignment(self) -> bool:
        """Whether it assigns a Run."""
        return self.method == "PATCH" and b'"assignedPodUID"' in self.body

    @property
    def is_fence(self) -> bool:
        """Whether it settles an assignment of unknown outcome."""
        return self.method == "PATCH" and b"it is decided again" in self.body


@dataclass(eq=False)
class Exchange:
    """One request on its way.

    `silent`: what the server says is read, and not passed on. `rewrite`: what is made of each piece of it, of the same
    length, as the answer says how long it is.
    """

    request: Request
    client: asyncio.StreamWriter
    cluster: Cluster
    silent: bool = False
    rewrite: Callable[[bytes], bytes] = bytes
    _reader: asyncio.StreamReader | None = field(default=None, repr=False)
    _writer: asyncio.StreamWriter | None = field(default=None, repr=False)

    async def send(self, *, withheld: int = 0) -> None:
        """Send the request to the server, all but the last bytes of its body."""
        url = urlsplit(self.cluster.url)
        self._reader, self._writer = await asyncio.open_connection(url.hostname, url.port, ssl=unverified())
        body = self.request.body
        self._writer.write(self.request.head + (body[:-withheld] if withheld else body))
        await self._writer.drain()

    async def send_rest(self, withheld: int = 1) -> None:
        """Send what was withheld."""
        assert self._writer is not None
        self._writer.write(self.request.body[-withheld:])
        await self._writer.drain()

    async def answer(self) -> bytes:
        """Read the server's whole answer, or what came of it, and pass nothing on."""
        assert self._reader is not None
        found = b""
        with suppress(OSError):
            while chunk := await self._reader.read(65536):
                found += chunk
        return found

    async def relay(self) -> None:
        """Pass the server's answer on as it comes."""
        assert self._reader is not None
        while chunk := await self._reader.read(65536):
            if not self.silent:
                self.client.write(self.rewrite(chunk))
                await self.client.drain()
        if self.silent:
            # The server ended the stream, and the client must not see that either.
            await asyncio.Event().wait()

    async def reply(self, code: int, body: object, *, retry_after: str = "") -> None:
        """Answer in the server's place."""
        data = msgspec.json.encode(body) + b"\n"
        extra = f"Retry-After: {retry_after}\r\n" if retry_after else ""
        head = f"HTTP/1.1 {code} X\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n{extra}"
        self.client.write(f"{head}Connection: close\r\n\r\n".encode() + data)
        await self.client.drain()

    def reset(self) -> None:
        """Break the client's connection, and let go of the server."""
        self.client.transport.abort()
        self.close()

    def close(self) -> None:
        """Let go of the server."""
        if self._writer is not None:
            # No TLS shutdown: nobody would wait for its end, and the loop would close before the connection does.
            self._writer.transport.abort()


Fault = Callable[[Exchange], Awaitable[None]]


@dataclass(eq=False)
class _Chosen:
    match: Callable[[Request], bool]
    fault: Fault
    times: int


class Proxy:
    """Choose with `on`; `open` are the exchanges that go on now, `seen` the requests that were chosen."""

    def __init__(self, cluster: Cluster) -> None:
        self.url = ""
        self.open: set[Exchange] = set()
        self.seen: list[Request] = []
        self._cluster = cluster
        self._chosen: list[_Chosen] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def on(self, match: Callable[[Request], bool], fault: Fault, *, times: int = 1) -> None:
        """Do `fault` to the next requests that match."""
        self._chosen.append(_Chosen(match, fault, times))

    @property
    def watches(self) -> list[Exchange]:
        """The watches that are open."""
        return [each for each in self.open if each.request.is_watch]

    async def serve(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        """Carry one request."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        exchange = None
        try:
            exchange = Exchange(await _read(reader), client, self._cluster)
            self.open.add(exchange)
            await self._fault_of(exchange.request)(exchange)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            if exchange is not None:
                self.open.discard(exchange)
                exchange.close()
            client.close()
            self._tasks.discard(task)

    async def stop(self) -> None:
        """End what goes on."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _fault_of(self, request: Request) -> Fault:
        for chosen in self._chosen:
            if chosen.match(request):
                chosen.times -= 1
                if not chosen.times:
                    self._chosen.remove(chosen)
                self.seen.append(request)
                return chosen.fault
        return passing


async def passing(exchange: Exchange) -> None:
    """Pass everything on."""
    try:
        await exchange.send()
    except OSError:
        exchange.reset()
        return
    await exchange.relay()


def breaking_objects(piece: bytes) -> bytes:
    """Rewrite every object so that it can't be decoded; who it is can be read all the same."""
    return re.sub(rb'("creationTimestamp":)("[^"]*")', lambda found: found[1] + b"7".ljust(len(found[2])), piece)


async def passing_broken_objects(exchange: Exchange) -> None:
    """Pass everything on, with objects that can't be decoded."""
    exchange.rewrite = breaking_objects
    await passing(exchange)


async def resetting(exchange: Exchange) -> None:
    """Break the connection before anything reaches the server."""
    exchange.reset()


async def losing_the_answer(exchange: Exchange) -> None:
    """Let the server act, then break the connection."""
    await exchange.send()
    await exchange.answer()
    exchange.reset()


async def failing_after_it_landed(exchange: Exchange) -> None:
    """Let the server act, and answer 500."""
    await exchange.send()
    await exchange.answer()
    await exchange.reply(500, {"kind": "Status", "code": 500, "reason": "InternalError", "message": "etcd timed out"})


def answering(code: int, body: object, *, retry_after: str = "") -> Fault:
    """Return what answers in the server's place."""

    async def answer(exchange: Exchange) -> None:
        await exchange.reply(code, body, retry_after=retry_after)

    return answer


async def _read(reader: asyncio.StreamReader) -> Request:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")[:-2]
    method, target, _ = first.split(" ")
    kept, length = [first], 0
    for line in lines:
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            length = int(value)
        if name.lower() not in {"connection", "keep-alive"}:
            kept.append(line)
    body = await reader.readexactly(length)
    return Request(method, target, "\r\n".join([*kept, "Connection: close", "", ""]).encode(), body)


@asynccontextmanager
async def proxying(cluster: Cluster, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Proxy]:
    """Run a proxy; its `url` speaks plain HTTP unless there is `tls`."""
    proxy = Proxy(cluster)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, ssl=tls)
    proxy.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        await proxy.stop()
        with suppress(TimeoutError):
            await asyncio.wait_for(server.wait_closed(), 1)
