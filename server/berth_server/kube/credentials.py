"""Where the way to a cluster is written down: a kubeconfig file, or what Kubernetes gives to a Pod.

kubernetes-asyncio reads both (contexts, exec plugins, in-cluster tokens). Nothing is sent here, and nothing is kept:
whoever needs newer credentials reads them again.
"""

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from berth_server.kube.proxies import proxy_of
from berth_server.kube.tls import Tls

if TYPE_CHECKING:
    from kubernetes_asyncio.client import Configuration

FILES_AGE: Final = timedelta(minutes=1)
"""Tokens and certificates in files are renewed by others. So often client-go reads tokens again."""
EXPIRES_AHEAD: Final = timedelta(minutes=1)


class CredentialsError(Exception):
    """There is no way to the cluster. The message is one sentence for the operator."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What was read.

    `server`: its URL. `server_name`: the name that its certificate must have, if not that of the URL. `authorization`:
    the header. `proxy`: the URL of the one on the way. `context`: of the kubeconfig file. `aged_at`: when to read them
    again; None: when the server refuses them.
    """

    server: str
    server_name: str | None
    tls: Tls
    authorization: str | None = field(repr=False)
    proxy: str | None = field(repr=False)
    context: str
    aged_at: datetime | None


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

    async def read(self) -> Credentials:
        """Read the credentials, by a plugin where the file says so. Raises CredentialsError."""
        if not self.in_cluster:
            self.check_files()
        try:
            return await (self._of_pod() if self.in_cluster else self._of_files())
        except Exception as error:  # whatever a file or a plugin of somebody else's raises
            where = "the Pod's service account" if self.in_cluster else self.files
            raise CredentialsError(f"credentials of the cluster can't be had from {where}: {error}") from error

    async def _of_pod(self) -> Credentials:
        # The library's import takes seconds and a hundred megabytes: only a server of a real cluster pays for it.
        from kubernetes_asyncio import client, config  # noqa: PLC0415

        fresh = client.Configuration()
        config.load_incluster_config(fresh, try_refresh_token=False)  # type: ignore[no-untyped-call]
        return _credentials(fresh, "", datetime.now(UTC) + FILES_AGE)

    async def _of_files(self) -> Credentials:
        from kubernetes_asyncio import client  # noqa: PLC0415 -- see above

        from berth_server.kube.kubeconfig import Loader  # noqa: PLC0415

        loader, fresh = Loader(self.files, self.context), client.Configuration()
        await loader.load_and_set(fresh)
        aged_at = datetime.now(UTC) + FILES_AGE if loader.reads_files else None
        if loader.expires is not None:
            aged_at = loader.expires - EXPIRES_AHEAD
        return _credentials(fresh, loader.context, aged_at, *loader.plugin_certificate)


def _credentials(
    read: "Configuration",
    context: str,
    aged_at: datetime | None,
    certificate: bytes | None = None,
    key: bytes | None = None,
) -> Credentials:
    """Take over what was read. `certificate` and `key`: of a plugin, in place of those in files."""
    server, token = str(read.host), read.api_key.get("BearerToken")
    if certificate is None:
        certificate, key = _content(read.cert_file), _content(read.key_file)
    return Credentials(
        server=server,
        server_name=read.tls_server_name,
        tls=Tls(_content(read.ssl_ca_cert), certificate, key, verify=bool(read.verify_ssl)),
        # Files of tokens may end with a line break, which a header must not have.
        authorization=token.strip() if token else None,
        proxy=proxy_of(server, read.proxy),
        context=context,
        aged_at=aged_at,
    )


def _content(file: str | None) -> bytes | None:
    return Path(file).read_bytes() if file else None
