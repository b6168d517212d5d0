"""The one HTTP session to the API server, and the credentials that it carries.

kubernetes-asyncio makes the TLS of the connections; requests go through an aiohttp session over them, which is several
times cheaper than the library's typed calls. Nothing here knows what is asked, retries a write, or decides what a
failure means.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from berth_server.kube.credentials import Credentials, CredentialsError, Source
from berth_server.kube.verdicts import UnavailableError
from berth_server.placement.ports import RefusedError

if TYPE_CHECKING:
    from kubernetes_asyncio.client import ApiClient

CONNECTIONS: Final = 256
"""Watches, 64 binds, messages and Events together stay well below."""
CONNECT_SECONDS: Final = 5.0
READ_BUFFER_BYTES: Final = 2**21
"""More than etcd takes as one object: a line of a watch comes in one piece."""
READ_TIMEOUT_SECONDS: Final = 60.0
_RENEW_AHEAD: Final = timedelta(minutes=1)
_RENEW_PAUSE_SECONDS: Final = 5.0
"""Between two readings of the credentials: a plugin that fails must not be run for every request."""
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
class _Session:
    """One set of credentials, and the connections that were made with its TLS."""

    client: "ApiClient"
    http: aiohttp.ClientSession
    proxy: str | None

    async def close(self) -> None:
        """Close every connection."""
        await self.http.close()
        await self.client.close()


def _session(credentials: Credentials) -> _Session:
    from kubernetes_asyncio.client import ApiClient  # noqa: PLC0415 -- see Source.read

    configuration = credentials.configuration
    configuration.connection_pool_maxsize = CONNECTIONS
    client = ApiClient(configuration=configuration)
    # Not the library's own session: it looks for a netrc file and a proxy anew for every request, in a thread, which
    # costs more than the request; and credentials of a netrc file would make every request with a token fail.
    http = aiohttp.ClientSession(
        connector=client.rest_client.pool_manager.connector,
        connector_owner=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        read_bufsize=READ_BUFFER_BYTES,
    )
    return _Session(client, http, credentials.proxy)


class Connection:
    """Sends requests. Open it with `async with`; it belongs to one event loop.

    `trace_headers` is asked for each request, where it is sent, for what names the trace that it belongs to.
    """

    def __init__(self, source: Source, user_agent: str, trace_headers: Callable[[], Mapping[str, str]] = dict) -> None:
        self._source = source
        self._user_agent = user_agent
        self._trace_headers = trace_headers
        self._session: _Session | None = None
        self._retired: _Session | None = None
        self._renewing = asyncio.Lock()
        self._renewed_at = -_RENEW_PAUSE_SECONDS
        self._expires: datetime | None = None

    async def __aenter__(self) -> Self:
        await self._load()
        return self

    async def __aexit__(self, *_: object) -> None:
        for session in (self._session, self._retired):
            if session is not None:
                await session.close()

    @property
    def server(self) -> str:
        """The URL of the API server."""
        assert self._session is not None
        return str(self._session.client.configuration.host)

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

        Raises RefusedError (code 0) if no connection came about, so nothing was sent, and UnavailableError if what
        happened is not known: a time-out, a connection lost.
        """
        limits = aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS)
        headers = {"Content-Type": content_type, "Accept": accept}
        answer = Answer(_UNAUTHORIZED, b"")
        for _ in range(2):
            async with self._send(method, path, params, headers, limits, body) as response:
                answer = Answer(response.status, await response.read(), response.headers.get("Retry-After"))
            if answer.code != _UNAUTHORIZED:
                return answer
            await self._renew()
        return answer

    @asynccontextmanager
    async def stream(
        self, path: str, *, params: Mapping[str, str], accept: str, silence: float
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Open an answer that does not end; its code may be any. Raises as `request`, also after `silence` seconds."""
        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=silence)
        async with self._send("GET", path, params, {"Accept": accept}, limits, None) as response:
            if response.status == _UNAUTHORIZED:
                await self._renew()
            try:
                yield response
            finally:
                _cut(response)

    @asynccontextmanager
    async def _send(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None,
        headers: Mapping[str, str],
        limits: aiohttp.ClientTimeout,
        body: bytes | None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        if self._expires is not None and datetime.now(UTC) + _RENEW_AHEAD >= self._expires:
            await self._renew()
        session = self._session
        assert session is not None, "the connection is not open"
        rest, configuration = session.client.rest_client, session.client.configuration
        host = str(configuration.host)
        sent = {**self._trace_headers(), "User-Agent": self._user_agent, **headers}
        authorization = await configuration.get_api_key_with_prefix("BearerToken")
        if authorization:
            sent["Authorization"] = authorization
        try:
            async with session.http.request(
                method,
                # Names of Kubernetes need no quoting, which would be tried on every part of each new URL.
                URL(f"{host}{path}?{urlencode(params)}" if params else host + path, encoded=True),
                data=body,
                headers=sent,
                timeout=limits,
                allow_redirects=False,
                proxy=session.proxy,
                proxy_headers=rest.proxy_headers,
                server_hostname=rest.server_hostname,
            ) as response:
                yield response
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise RefusedError(f"no connection to {host}: {error}", code=0, reason="Unreachable") from None
        except TimeoutError:
            raise UnavailableError(f"no answer from {host} in time") from None
        except (aiohttp.ClientError, OSError) as error:
            raise UnavailableError(f"the connection to {host} was lost: {error!r}") from None

    # --- credentials ----------------------------------------------------------------------------------------------

    async def _renew(self) -> None:
        """Read the credentials anew, unless that was just done. A failure leaves the old ones, which may still do."""
        async with self._renewing:
            now = asyncio.get_running_loop().time()
            if now - self._renewed_at < _RENEW_PAUSE_SECONDS:
                return
            self._renewed_at = now
            with contextlib.suppress(CredentialsError):
                await self._load()

    async def _load(self) -> None:
        """Use what the source has now: a token goes into the session at hand, another certificate needs a new one."""
        fresh = await self._source.read()
        self._expires = fresh.expires
        old = self._session
        if old is not None and old.client.configuration.cert_file == fresh.configuration.cert_file:
            old.client.configuration.api_key = fresh.configuration.api_key
            old.client.configuration.refresh_api_key_hook = fresh.configuration.refresh_api_key_hook
            return
        self._session = _session(fresh)
        if self._retired is not None:
            await self._retired.close()
        # What still runs on it may end by itself; its watches are opened anew within the minute.
        self._retired = old


def _cut(response: aiohttp.ClientResponse) -> None:
    """End a stream that is not read to its end without the farewell of TLS, which would wait for the server's."""
    transport = None if response.connection is None else response.connection.transport
    if transport is not None:
        transport.abort()
