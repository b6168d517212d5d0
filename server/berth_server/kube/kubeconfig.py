"""Reads kubeconfig files by kubernetes-asyncio, and does itself what the library gets wrong.

Importing this module imports the library, which takes seconds and a hundred megabytes: only a server of a real cluster
may pay for it.
"""

import asyncio
import json
import os
from datetime import datetime
from typing import Any, cast

from kubernetes_asyncio.config.config_exception import ConfigException
from kubernetes_asyncio.config.dateutil import parse_rfc3339
from kubernetes_asyncio.config.exec_provider import ExecProvider
from kubernetes_asyncio.config.kube_config import KubeConfigLoader, KubeConfigMerger

_OF_USERS = ("tokenFile", "client-certificate", "client-key")


class _Plugin(ExecProvider):
    """The library's, but that it reads both outputs at once, and ends a plugin that nobody waits for any more."""

    async def status(self) -> dict[str, str]:
        """Return what the plugin gives. Raises ConfigException."""
        info = {"apiVersion": self.api_version, "kind": "ExecCredential", "spec": {"interactive": os.isatty(0)}}
        process = await asyncio.create_subprocess_exec(
            *self.args,
            env={**self.env, "KUBERNETES_EXEC_INFO": json.dumps(info)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            output, errors = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
        if process.returncode:
            said = errors.decode(errors="replace").strip()
            raise ConfigException(f"exec: {self.args[0]} ended with {process.returncode}: {said}")
        try:
            credential = json.loads(output)
        except ValueError as error:
            raise ConfigException(f"exec: {self.args[0]} did not print JSON: {error}") from None
        if not isinstance(credential, dict) or credential.get("apiVersion") != self.api_version:
            raise ConfigException(f"exec: {self.args[0]} did not print a credential of {self.api_version}")
        status: dict[str, str] = credential.get("status") or {}
        return status


class Loader(KubeConfigLoader):
    """One reading of the files, as far as a context needs them.

    Of a plugin the library forgets when its certificate expires, ignores the certificate beside a token, and leaves two
    open files for every certificate (ExecCredential of client.authentication.k8s.io/v1).
    """

    plugin_certificate: tuple[bytes, bytes] | tuple[()] = ()
    """Certificate chain and key that a plugin gave, PEM."""
    expires: datetime | None = None
    """When the plugin wants to be asked again."""

    def __init__(self, files: str, context: str) -> None:
        super().__init__(KubeConfigMerger(files).config, active_context=context or None, config_base_path=None)

    @property
    def context(self) -> str:
        """The name of the context that is read."""
        assert self.current_context is not None
        return str(self.current_context["name"])

    @property
    def reads_files(self) -> bool:
        """Whether a file that is only named in the kubeconfig may have something newer at any time."""
        user: Any = self._user if self._user is not None else ()
        cluster: Any = self._cluster
        # A plugin says itself when it wants to be asked again.
        return "exec" not in user and ("certificate-authority" in cluster or any(key in user for key in _OF_USERS))

    async def load_from_exec_plugin(self) -> bool:
        """Run the plugin. Raises ConfigException."""
        user = cast("Any", self._user)
        plugin = _Plugin(user["exec"])
        status = await plugin.status()
        token, expires = status.get("token"), status.get("expirationTimestamp")
        certificate, key = status.get("clientCertificateData"), status.get("clientKeyData")
        if bool(certificate) != bool(key) or not (token or certificate):
            raise ConfigException(f"exec: {plugin.args[0]} gave neither a token nor a client certificate with its key")
        if token:
            self.token = f"Bearer {token}"
        if certificate and key:
            self.plugin_certificate = certificate.encode(), key.encode()
        if expires:
            self.expires = parse_rfc3339(expires)
        return True
