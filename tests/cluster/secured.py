"""An API server whose certificate can be verified, and which knows users by theirs."""

import base64
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import trustme

from tests.cluster.api import JSON
from tests.cluster.binaries import Binaries
from tests.cluster.processes import Cluster, running

NAME: Final = "api.example"
"""The only name in the API server's certificate. Nobody resolves it but the proxies of the tests."""
_YEAR: Final = timedelta(days=365)


@dataclass(frozen=True)
class Secured:
    """The API server, and the authorities of both sides."""

    cluster: Cluster
    servers: trustme.CA
    clients: trustme.CA

    @property
    def port(self) -> int:
        """Where it listens."""
        port = urlsplit(self.cluster.url).port
        assert port is not None
        return port

    @property
    def entry(self) -> JSON:
        """Return the cluster for a kubeconfig, with everything that verifying it needs."""
        data = base64.b64encode(self.servers.cert_pem.bytes()).decode()
        return {"server": self.cluster.url, "certificate-authority-data": data, "tls-server-name": NAME}

    def issue(self, user: str, *, expired: bool = False) -> tuple[bytes, bytes]:
        """Return a certificate and its key for that user, who may do everything."""
        until = datetime.now(UTC) + (-timedelta(hours=1) if expired else _YEAR)
        issued = self.clients.issue_cert(
            f"{user}.example",  # an empty list of names would be a critical extension that Go does not take
            common_name=user,
            organization_name="system:masters",
            not_before=until - 2 * _YEAR,
            not_after=until,
        )
        return b"".join(each.bytes() for each in issued.cert_chain_pems), issued.private_key_pem.bytes()

    def server_tls(self) -> ssl.SSLContext:
        """Return the TLS of another server of that name, or of this machine."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.servers.issue_cert(NAME, "127.0.0.1").configure_cert(context)
        return context


@contextmanager
def secured_by(binaries: Binaries, folder: Path) -> Iterator[Secured]:
    """Run one, without our custom resources."""
    servers, clients = trustme.CA(), trustme.CA()
    certificate = servers.issue_cert(NAME)
    files = {
        "client-ca-file": clients.cert_pem,
        "tls-cert-file": certificate.cert_chain_pems[0],
        "tls-private-key-file": certificate.private_key_pem,
    }
    for name, blob in files.items():
        (folder / name).write_bytes(blob.bytes())
    flags = tuple(f"--{name}={folder / name}" for name in files)
    with running(binaries, folder, folder / "none", flags=flags) as cluster:
        yield Secured(cluster, servers, clients)
