"""The one HTTP session to the API server, and the credentials that it carries.

Requests go through an aiohttp session, which is several times cheaper than the typed calls of kubernetes-asyncio.
Nothing here knows what is asked, retries a write that may have landed, or decides what a failure means.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, Self
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from berth_server.kube.credentials import Credentials, CredentialsError, Source
from berth_server.kube.outages import outage
from berth_server.kube.tls import TlsError
from berth_server.placement.ports import RefusedError

CONNECTIONS: Final = 256
"""Watches, 64 binds, messages and Events together stay well below."""
CONNECT_SECONDS: Final = 5.0
READ_BUFFER_BYTES: Final = 2**21
"""More than etcd takes as one object: a line of a watch comes in one piece."""
READ_TIMEOUT_SECONDS: Final = 60.0
_RENEW_PAUSE_SECONDS: Final = 5.0
"""Between two readings of the credentials: a plugin that fails must not be run for every request."""
_RENEW_SECONDS: Final = 60.0
"""A plugin that waits for somebody, at a terminal that may not be there, must not hold requests for ever."""
_UNAUTHORIZED: Final = 401
JSON_TYPE: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
_METADATA: Final = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"
METADATA_ONLY: Final = _METADATA.format("")
METADATA_LIST: Final = _METADATA.format("List")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. `retry_after`: the header of that name."""

    code: int
    body: bytes
    retry_after: str | None = None


@dataclass(frozen=True, slots=True)
class _Request:
    """What is sent, before the credentials."""

    method: str
    path: str
    params: Mapping[str, str] | None
    headers: Mapping[str, str]
    limits: aiohttp.ClientTimeout
    body: bytes | None = None


@dataclass(slots=True, eq=False)
class _Session:
    """The connections that were made with one TLS. `running`: how many requests use it now."""

    credentials: Credentials
    http: aiohttp.ClientSession
    running: int = 0


def _session(credentials: Credentials) -> _Session:
    """Raises TlsError."""
    # Not the library's own session: it looks for a netrc file and a proxy anew for every request, in a thread, which
    # costs more than the request; and credentials of a netrc file would make every request with a token fail.
    http = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=CONNECTIONS, ssl=credentials.tls.context()),
        cookie_jar=aiohttp.DummyCookieJar(),
        read_bufsize=READ_BUFFER_BYTES,
    )
    return _Session(credentials, http)


def _abort(response: aiohttp.ClientResponse) -> None:
    """Let go of a connection whose answer was not read to its end.

    The client would end TLS in order, and nobody would wait for that: neither `close` nor the event loop.
    """
    connection = response.connection  # None: read to its end, and free for the next request
    if connection is not None and connection.transport is not None:
        connection.transport.abort()


class Connection:
    """Sends requests. Open it with `async with`; it belongs to one event loop.

    `trace_headers` is asked for each request, where it is sent, for what names the trace that it belongs to.
    """

    def __init__(self, source: Source, user_agent: str, trace_headers: Callable[[], Mapping[str, str]] = dict) -> None:
        self._source = source
        self._user_agent = user_agent
        self._trace_headers = trace_headers
        self._session: _Session | None = None
        self._retired: list[_Session] = []
        self._renewing = asyncio.Lock()
        self._renewed_at = -_RENEW_PAUSE_SECONDS
        self._not_renewed = ""

    async def __aenter__(self) -> Self:
        await self._load()
        return self

    async def __aexit__(self, *_: object) -> None:
        for session in (self._current, *self._retired):
            await session.http.close()

    @property
    def server(self) -> str:
        """The URL of the API server, the same for ever."""
        return self._current.credentials.server

    @property
    def _current(self) -> _Session:
        assert self._session is not None, "the connection is not open"
        return self._session

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON_TYPE,
        accept: str = JSON_TYPE,
        seconds: float = READ_TIMEOUT_SECONDS,
    ) -> Answer:
        """Send one request and return its answer, whatever its code; one that was not authenticated is sent once more.

        Raises RefusedError (code 0) if no connection came about, so nothing was sent, or (401) if newer credentials
        can't be had; UnavailableError if what happened is not known: a time-out, a connection lost.
        """
        limits = aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS)
        headers = {"Content-Type": content_type, "Accept": accept}
        async with self._exchange(_Request(method, path, params, headers, limits, body)) as response:
            return Answer(response.status, await response.read(), response.headers.get("Retry-After"))

    @asynccontextmanager
    async def stream(
        self, path: str, *, params: Mapping[str, str], accept: str, silence: float
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Open an answer that does not end; its code may be any. Raises as `request`, also after `silence` seconds."""
        # `sock_connect` is over when a proxy is connected to: its own answer may never come.
        limits = aiohttp.ClientTimeout(total=None, connect=silence, sock_connect=CONNECT_SECONDS, sock_read=silence)
        async with self._exchange(_Request("GET", path, params, {"Accept": accept}, limits)) as response:
            yield response

    @asynccontextmanager
    async def _exchange(self, request: _Request) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send; once more with newer credentials if one side did not trust the other, for then nothing was done yet."""
        aged_at = self._current.credentials.aged_at
        if aged_at is not None and datetime.now(UTC) >= aged_at:
            await self._renew()
        try:
            for last in (False, True):
                try:
                    async with self._send(request) as response:
                        if response.status != _UNAUTHORIZED or (last and not self._not_renewed):
                            yield response
                            return
                except aiohttp.ClientSSLError:
                    if last:
                        raise
                if not last:
                    await self._renew()
        except (aiohttp.ClientError, OSError) as error:
            used = self._current.credentials
            raise outage(error, used.server, str(self._source), used.proxy) from None
        raise RefusedError(self._not_renewed, code=_UNAUTHORIZED, reason="Unauthorized")

    @asynccontextmanager
    async def _send(self, request: _Request) -> AsyncIterator[aiohttp.ClientResponse]:
        session = self._current
        credentials = session.credentials
        url = credentials.server + request.path
        sent = {**self._trace_headers(), "User-Agent": self._user_agent, **request.headers}
        if credentials.authorization:
            sent["Authorization"] = credentials.authorization
        session.running += 1
        try:
            async with session.http.request(
                request.method,
                # Names of Kubernetes need no quoting, which would be tried on every part of each new URL.
                URL(f"{url}?{urlencode(request.params)}" if request.params else url, encoded=True),
                data=request.body,
                headers=sent,
                timeout=request.limits,
                allow_redirects=False,
                proxy=credentials.proxy,
                server_hostname=credentials.server_name,
            ) as response:
                try:
                    yield response
                finally:
                    _abort(response)
        finally:
            session.running -= 1
            await self._close_unused()

    # --- credentials ----------------------------------------------------------------------------------------------

    async def _renew(self) -> None:
        """Read the credentials anew, unless that was just done. A failure leaves the old ones, which may still do."""
        async with self._renewing:
            now = asyncio.get_running_loop().time()
            if now - self._renewed_at < _RENEW_PAUSE_SECONDS:
                return
            self._renewed_at = now
            try:
                async with asyncio.timeout(_RENEW_SECONDS):
                    await self._load()
                self._not_renewed = ""
            except CredentialsError as error:
                self._not_renewed = str(error)
            except TimeoutError:
                self._not_renewed = f"credentials of the cluster can't be had from {self._source} in time"

    async def _load(self) -> None:
        """Use what the source has now: a token goes into the session at hand, other TLS needs a new one."""
        fresh = await self._source.read()
        old = self._session
        if old is None:
            # Whoever chooses another context or server in the file does not mean this process, whose view is of one.
            self._source = replace(self._source, context=fresh.context)
        elif old.credentials.server != fresh.server:
            raise CredentialsError(f"{self._source} names another server now, {fresh.server}: start anew to use it")
        if old is not None and old.credentials.tls == fresh.tls:
            old.credentials = fresh
            return
        try:
            self._session = _session(fresh)
        except TlsError as error:
            raise CredentialsError(f"credentials of the cluster can't be had from {self._source}: {error}") from None
        if old is not None:
            # What runs on it ends by itself: whoever reads from a session that is closed would wait for ever.
            self._retired.append(old)
            await self._close_unused()

    async def _close_unused(self) -> None:
        while (unused := next((each for each in self._retired if not each.running), None)) is not None:
            self._retired.remove(unused)
            await unused.http.close()
