"""Where the way to a cluster is written down: a kubeconfig file, or what Kubernetes gives to a Pod.

kubernetes-asyncio reads both (contexts, exec plugins, client certificates, in-cluster tokens). Nothing is sent here,
and nothing is kept: whoever needs newer credentials reads them again.
"""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

if TYPE_CHECKING:
    from kubernetes_asyncio.client import Configuration


class CredentialsError(Exception):
    """There is no way to the cluster. The message is one sentence for the operator."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What was read. `expires`: when an exec plugin says that they do. `proxy`: the URL of the one on the way."""

    configuration: "Configuration"
    expires: datetime | None
    proxy: str | None


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
        # The library's import takes seconds and a hundred megabytes: only a server of a real cluster pays for it.
        from kubernetes_asyncio import client, config  # noqa: PLC0415

        fresh = client.Configuration()
        expires: datetime | None = None
        try:
            if self.in_cluster:
                # Its hook re-reads the token, which the kubelet renews, every minute.
                config.load_incluster_config(client_configuration=fresh)  # type: ignore[no-untyped-call]
            else:
                self.check_files()
                loader = await config.load_kube_config(
                    config_file=self.files,
                    context=self.context or None,
                    client_configuration=fresh,
                    persist_config=False,
                )
                expires = _aware(getattr(loader, "exec_plugin_expiry", None))
        except CredentialsError:
            raise
        except Exception as error:  # whatever a file or a plugin of somebody else's raises
            where = "the Pod's service account" if self.in_cluster else self.files
            raise CredentialsError(f"credentials of the cluster can't be had from {where}: {error}") from error
        return Credentials(fresh, expires, fresh.proxy or _proxy_of(str(fresh.host)))


def _proxy_of(url: str) -> str | None:
    """Return the proxy that the environment names for this URL (HTTPS_PROXY, NO_PROXY), as kubectl understands it."""
    parts = urlsplit(url)
    if parts.hostname is None or proxy_bypass(parts.hostname):
        return None
    return getproxies().get(parts.scheme)


def _aware(instant: datetime | None) -> datetime | None:
    return instant.replace(tzinfo=UTC) if instant is not None and instant.tzinfo is None else instant
