"""Kubeconfig files of tests, exec plugins among them, and whom the API server takes us for by one."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import yaml

from berth_server.kube.connection import Connection
from berth_server.kube.credentials import Source
from tests.cluster.api import JSON, Api
from tests.cluster.processes import Cluster

_SELF: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_VERSION: Final = "client.authentication.k8s.io/v1"


async def user_of(connection: Connection) -> str:
    """Return the user that the API server takes us for."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    name: str = (await Api(connection).send("POST", _SELF, review))["status"]["userInfo"]["username"]
    return name


async def whoami(path: str, context: str = "") -> str:
    """Connect, and ask that."""
    async with Connection(Source(path, context), "berth-tests") as connection:
        return await user_of(connection)


def kubeconfig(folder: Path, cluster: JSON, **users: JSON) -> str:
    """Write a kubeconfig with a context for each user, whose current context is the first."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": next(iter(users)),
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": name, "user": user} for name, user in users.items()],
        "contexts": [{"name": name, "context": {"cluster": "c", "user": name}} for name in users],
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(content))
    return str(path)


def unverified(cluster: Cluster) -> JSON:
    """Return a cluster for a kubeconfig whose certificate nobody looks at."""
    return {"server": cluster.url, "insecure-skip-tls-verify": True}


class Plugin:
    """An exec plugin, which prints what `gives` was told last, and counts how often it was asked."""

    def __init__(self, folder: Path) -> None:
        self._status, self._calls = folder / "status", folder / "calls"
        script = f"echo $$ >> '{self._calls}'; exec cat '{self._status}'"
        command = {"apiVersion": _VERSION, "command": "sh", "args": ["-c", script], "interactiveMode": "Never"}
        self.user: JSON = {"exec": command}

    def gives(self, **status: str) -> None:
        """Give that from now on."""
        self._status.write_text(json.dumps({"apiVersion": _VERSION, "kind": "ExecCredential", "status": status}))

    def gives_certificate(self, pair: tuple[bytes, bytes], *, seconds: float | None = None) -> None:
        """Give that certificate and key, which expire in so many seconds."""
        expires = {}
        if seconds is not None:
            instant = datetime.now(UTC) + timedelta(seconds=seconds)
            expires = {"expirationTimestamp": instant.strftime("%Y-%m-%dT%H:%M:%SZ")}
        self.gives(clientCertificateData=pair[0].decode(), clientKeyData=pair[1].decode(), **expires)

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return len(self._pids)

    @property
    def runs(self) -> bool:
        """Whether it is asked now."""
        try:
            os.kill(self._pids[-1], 0)
        except ProcessLookupError:
            return False
        return True

    @property
    def _pids(self) -> list[int]:
        return [int(line) for line in self._calls.read_text().splitlines()]
