"""The one HTTP session to the API server, and the credentials that it carries.

kubernetes-asyncio reads kubeconfig files (contexts, exec plugins, client certificates) and in-cluster credentials, and
makes the session with their TLS; requests then use that session directly, which is several times cheaper than the
library's typed calls. Nothing here knows what is asked, retries a write, or decides what a failure means.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import aiohttp

from berth_server.kube.verdicts import UnavailableError
from berth_server.placement.ports import RefusedError

if TYPE_CHECKING:
    from kubernetes_asyncio.client import ApiClient

CONNECTIONS: Final = 256
"""Watches, 64 binds, messages and Events together stay well below."""
CONNECT_SECONDS: Final = 5.0
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


class CredentialsError(Exception):
    """There is no way to the cluster. The message is one sentence for the operator."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. `retry_after`: the header of that name."""

    code: int
    body: bytes
    retry_after: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Where credentials come from: a kubeconfig file and a context in it, or the Pod that this runs in."""

    kubeconfig: str = ""
    context: str = ""

    @property
    def in_cluster(self) -> bool:
        """Whether the credentials are those that Kubernetes gives to a Pod."""
        named = self.kubeconfig or self.context or os.environ.get("KUBECONFIG")
        return not named and bool(os.environ.get("KUBERNETES_SERVICE_HOST"))

    def __str__(self) -> str:
        if self.in_cluster:
            return "the Pod that this runs in"
        return f"context {self.context} in {self.files}" if self.context else self.files

    @property
    def files(self) -> str:
        """The kubeconfig file or, as KUBECONFIG has it, files."""
        return self.kubeconfig or os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")

    def check_files(self) -> None:
        """Raise CredentialsError if none of the kubeconfig files is there."""
        if not any(Path(file).expanduser().is_file() for file in self.files.split(os.pathsep) if file):
            raise CredentialsError(
                f"there is no kubeconfig file {self.files}: name one with --kubeconfig, or serve a cluster from a file "
                "with --cluster FILE"
            )


class Connection:
    """Sends requests. Open it with `async with`; it belongs to one event loop."""

    def __init__(self, source: Source, user_agent: str) -> None:
        self._source = source
        self._user_agent = user_agent
        self._client: ApiClient | None = None
        self._retired: ApiClient | None = None
        self._renewing = asyncio.Lock()
        self._renewed_at = -_RENEW_PAUSE_SECONDS
        self._expires: datetime | None = None

    async def __aenter__(self) -> Self:
        await self._load()
        return self

    async def __aexit__(self, *_: object) -> None:
        for client in (self._client, self._retired):
            if client is not None:
                await client.close()

    @property
    def server(self) -> str:
        """The URL of the API server."""
        assert self._client is not None
        return str(self._client.configuration.host)

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
            yield response

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
        client = self._client
        assert client is not None, "the connection is not open"
        rest, configuration = client.rest_client, client.configuration
        host = str(configuration.host)
        sent = {"User-Agent": self._user_agent, **headers}
        authorization = await configuration.get_api_key_with_prefix("BearerToken")
        if authorization:
            sent["Authorization"] = authorization
        try:
            async with rest.pool_manager.request(
                method,
                host + path,
                params=params,
                data=body,
                headers=sent,
                timeout=limits,
                allow_redirects=False,
                proxy=rest.proxy,
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
        # The library's import takes seconds and a hundred megabytes: only a server of a real cluster pays for it.
        from kubernetes_asyncio import client, config  # noqa: PLC0415

        fresh = client.Configuration()
        fresh.connection_pool_maxsize = CONNECTIONS
        expires: datetime | None = None
        try:
            if self._source.in_cluster:
                # Its hook re-reads the token, which the kubelet renews, every minute.
                config.load_incluster_config(client_configuration=fresh)  # type: ignore[no-untyped-call]
            else:
                self._source.check_files()
                loader = await config.load_kube_config(
                    config_file=self._source.files,
                    context=self._source.context or None,
                    client_configuration=fresh,
                    persist_config=False,
                )
                expires = _aware(getattr(loader, "exec_plugin_expiry", None))
        except CredentialsError:
            raise
        except Exception as error:  # whatever a file or a plugin of somebody else's raises
            where = "the Pod's service account" if self._source.in_cluster else self._source.files
            raise CredentialsError(f"credentials of the cluster can't be had from {where}: {error}") from error
        self._expires = expires
        await self._take(client.ApiClient, fresh)

    async def _take(self, api_client: type["ApiClient"], fresh: Any) -> None:
        """Use the new configuration: a token goes into the session at hand, another certificate needs a new one."""
        old = self._client
        if old is not None and old.configuration.cert_file == fresh.cert_file:
            old.configuration.api_key = fresh.api_key
            old.configuration.refresh_api_key_hook = fresh.refresh_api_key_hook
            return
        self._client = api_client(configuration=fresh)
        if self._retired is not None:
            await self._retired.close()
        # What still runs on it may end by itself; its watches are opened anew within the minute.
        self._retired = old


def _aware(instant: datetime | None) -> datetime | None:
    return instant.replace(tzinfo=UTC) if instant is not None and instant.tzinfo is None else instant
