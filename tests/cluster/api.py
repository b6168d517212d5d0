"""The other components' way to the API server: create, replace, delete and patch whole objects, as they would."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from berth_server.kube.cluster import KubernetesStore
from berth_server.kube.connection import MERGE_PATCH, Connection
from berth_server.kube.credentials import Source
from berth_server.kube.kinds import Kind, kind_of
from berth_server.kube.verdicts import write_failure
from berth_server.objects.clock import SystemClock
from berth_server.observability.metrics import Metrics
from berth_server.placement.ports import ObjectRef
from tests.cluster.processes import Cluster
from tests.fakes.log import NullLog

JSON = dict[str, Any]
_SERVED = {"Namespace": "namespaces"}


def path_of(kind: str, namespace: str = "", name: str = "") -> str:
    """Return the path of an object or a collection, also of kinds that Berth never asks for."""
    known = kind_of(kind)
    if not known.plural:
        known = Kind(kind, plural=_SERVED[kind], namespaced=False)
    return known.path(namespace, name)


class Api:
    """Raw requests. Raises the KubeError of a write that is no success."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    async def send(self, method: str, path: str, body: Any = None, *, content_type: str = "application/json") -> JSON:
        """Send one request and return the object that came back."""
        data = None if body is None else msgspec.json.encode(body)
        answer = await self.connection.request(method, path, body=data, content_type=content_type)
        if answer.code not in {200, 201, 202}:
            raise write_failure(answer.code, answer.body, answer.retry_after)
        raw: JSON = msgspec.json.decode(answer.body)
        return raw

    async def create(self, raw: JSON) -> JSON:
        """POST an object; return it as stored."""
        return await self.send("POST", path_of(raw["kind"], raw["metadata"].get("namespace", "")), raw)

    async def update(self, raw: JSON) -> JSON:
        """PUT an object; return it as stored."""
        metadata = raw["metadata"]
        return await self.send("PUT", path_of(raw["kind"], metadata.get("namespace", ""), metadata["name"]), raw)

    async def delete(self, ref: ObjectRef) -> None:
        """DELETE an object at once."""
        await self.send("DELETE", path_of(ref.kind, ref.namespace, ref.name), {"gracePeriodSeconds": 0})

    async def get(self, kind: str, namespace: str, name: str) -> JSON:
        """GET an object whole."""
        return await self.send("GET", path_of(kind, namespace, name))

    async def patch(self, kind: str, namespace: str, name: str, body: JSON, *, status: bool = True) -> JSON:
        """Merge a patch into an object, or into its status subresource."""
        path = path_of(kind, namespace, name) + ("/status" if status else "")
        return await self.send("PATCH", path, body, content_type=MERGE_PATCH)

    async def clear(self, namespace: str) -> None:
        """Delete what tests of other namespaces would meet: every Run and Pod."""
        for kind in ("Run", "Pod"):
            await self.send("DELETE", path_of(kind, namespace), {"gracePeriodSeconds": 0})

    async def new_namespace(self) -> str:
        """Create a namespace of the test's own."""
        name = f"t-{secrets.token_hex(4)}"
        await self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        return name


class WritableKubernetesStore(KubernetesStore):
    """The store under test, with the writes of the others."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, Metrics(CollectorRegistry()), NullLog(), SystemClock().monotonic)
        self.api = Api(connection)

    async def create(self, raw: JSON) -> JSON:
        """See Api."""
        return await self.api.create(raw)

    async def update(self, raw: JSON) -> JSON:
        """See Api."""
        return await self.api.update(raw)

    async def delete(self, ref: ObjectRef) -> None:
        """See Api."""
        await self.api.delete(ref)


@asynccontextmanager
async def connected(kubeconfig: Path) -> AsyncIterator[Api]:
    """Connect with a kubeconfig."""
    async with Connection(Source(str(kubeconfig)), "berth-tests") as connection:
        yield Api(connection)


@asynccontextmanager
async def admin(cluster: Cluster) -> AsyncIterator[Api]:
    """Connect to a test cluster with every right."""
    async with connected(cluster.kubeconfig()) as api:
        yield api
