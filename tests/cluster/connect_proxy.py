"""An HTTP proxy that carries connections (CONNECT), as companies have between their clusters and the rest.

It resolves names itself: every name leads to one port of this machine.
"""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

_DENIED = b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"
_DONE = b"HTTP/1.1 200 Connection established\r\n\r\n"


class ConnectProxy:
    """Leads to `port`. `users`: "user:password" of those who may; empty: everybody. `heads`: what it was asked.

    A `silent` one never says whether it connected.
    """

    def __init__(self, port: int, *, users: frozenset[str] = frozenset(), silent: bool = False) -> None:
        self.port = 0
        self.heads: list[str] = []
        self._leads_to = port
        self._headers = {f"Basic {base64.b64encode(user.encode()).decode()}" for user in users}
        self._silent = silent
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        """Carry one connection."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._carry(reader, client)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            client.close()
            self._tasks.discard(task)

    async def stop(self) -> None:
        """Cut what goes on."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _carry(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        if self._silent:
            await asyncio.Event().wait()
        if self._headers and not any(f"Proxy-Authorization: {header}\r\n" in head for header in self._headers):
            client.write(_DENIED)
            return
        assert head.startswith("CONNECT "), head
        there, server = await asyncio.open_connection("127.0.0.1", self._leads_to)
        client.write(_DONE)
        try:
            await asyncio.gather(_pump(reader, server), _pump(there, client))
        finally:
            server.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(65536):
        writer.write(chunk)
        await writer.drain()
    writer.close()


@asynccontextmanager
async def running_proxy(proxy: ConnectProxy, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[ConnectProxy]:
    """Run it on a port of its own; with `tls` it is reached by https."""
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, ssl=tls)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await proxy.stop()
        with suppress(TimeoutError):
            await asyncio.wait_for(server.wait_closed(), 1)
