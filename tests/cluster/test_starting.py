"""How Berth starts: rights that lack, APIs that are not there yet, what it asks for, and the command itself."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trustme
import yaml

from berth_server.kube import connection as connections
from berth_server.kube import informer
from berth_server.kube.connection import Connection
from berth_server.kube.credentials import Source
from berth_server.objects.decode import version_of
from berth_server.objects.resources import Node
from tests.cluster.api import JSON, WritableKubernetesStore, admin
from tests.cluster.berth import Berth, built, serving, until
from tests.cluster.conftest import CRDS
from tests.cluster.kruntimes import add_pod, in_parallel, run_manifest
from tests.cluster.processes import Cluster, install
from tests.cluster.proxy import Request, passing, proxying
from tests.e2e.process import Process
from tests.listing import listed

pytestmark = pytest.mark.cluster


@asynccontextmanager
async def starting(path: Path) -> AsyncIterator[tuple[Berth, "asyncio.Task[None]"]]:
    """Start Berth where it can't start yet."""
    async with built(path) as berth:
        task = asyncio.create_task(berth.service.start())
        try:
            yield berth, task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await berth.service.stop()


def said(berth: Berth, part: str) -> list[str]:
    """Return the lines that say that."""
    return [line for line, _ in berth.log.lines if part in line]


async def test_rights_that_lack(shared_cluster: Cluster) -> None:
    """Berth says once what the API server says, and goes on as soon as the right is there."""
    role: JSON = {"kind": "ClusterRole", "name": "cluster-admin", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "nobody"},
        "roleRef": role,
        "subjects": [{"kind": "User", "name": "nobody", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    async with admin(shared_cluster) as api, starting(shared_cluster.kubeconfig("nobody")) as (berth, started):
        forbidden = 'User "nobody" cannot list resource "nodes"'
        await until(lambda: bool(said(berth, forbidden)), "it says so")
        await asyncio.sleep(1)
        assert len(said(berth, forbidden)) == 1
        assert not berth.core.ingest.synced
        await api.send("POST", bindings, binding)
        try:
            await asyncio.wait_for(started, 60)
        finally:
            await api.send("DELETE", f"{bindings}/nobody")
        assert berth.core.ingest.synced


async def test_a_server_that_is_not_trusted(
    shared_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Berth says once which certificate it does not trust and why, and goes on as soon as the authority is right."""
    monkeypatch.setattr(connections, "_RENEW_PAUSE_SECONDS", 0.1)
    authority, path = tmp_path / "ca.crt", shared_cluster.kubeconfig()
    authority.write_bytes(trustme.CA().cert_pem.bytes())
    content = yaml.safe_load(path.read_text())
    content["clusters"][0]["cluster"] = {"server": shared_cluster.url, "certificate-authority": str(authority)}
    path.write_text(yaml.safe_dump(content))
    line = (
        f"no connection to {shared_cluster.url}: its certificate is not one that context test in {path} trusts: "
        "self-signed certificate in certificate chain"
    )
    async with admin(shared_cluster) as api, starting(path) as (berth, started):
        await until(lambda: bool(said(berth, line)), "it says so")
        await asyncio.sleep(1)
        assert said(berth, "certificate") == [line]
        assert not berth.core.ingest.synced
        authority.write_bytes(shared_cluster.certificate.read_bytes())
        await asyncio.wait_for(started, 60)
        namespace = await api.new_namespace()
        created = await api.create(run_manifest(namespace, "a"))
        await until(lambda: created["metadata"]["uid"] in berth.core.state.items, "the Run is seen")
        await api.clear(namespace)


async def test_a_kind_that_is_not_there_yet(bare_cluster: Cluster) -> None:
    """Each absent CRD is one clear line; Berth is not ready before all are there, and then works."""
    async with admin(bare_cluster) as api, starting(bare_cluster.kubeconfig()) as (berth, started):
        for name in ("persistentworkspaces", "runs"):
            absent = f"the API server has no {name}.kruntimes.io of kruntimes.io/v1alpha1"
            line = f"{absent}: waiting until its CRD is installed"
            await until(lambda: bool(said(berth, line)), "it says so")  # noqa: B023
            await asyncio.sleep(1)
            assert said(berth, name) == [line]
            assert not berth.core.ingest.synced
            install(bare_cluster, CRDS / f"{name}.yaml")
        await asyncio.wait_for(started, 60)
        assert berth.core.ingest.synced
        namespace = await api.new_namespace()
        created = await api.create(run_manifest(namespace, "a"))
        await until(lambda: created["metadata"]["uid"] in berth.core.state.items, "the Run is seen")


async def test_lists_come_in_pages(shared_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many pages are one list of one version, also while objects change between them."""
    monkeypatch.setattr(informer, "PAGE", 3)
    async with admin(shared_cluster) as api, proxying(shared_cluster) as proxy:
        namespace = await api.new_namespace()
        await in_parallel(api.create(run_manifest(namespace, f"r{index}")) for index in range(10))
        asked: list[Request] = []

        def is_list(request: Request) -> bool:
            return "limit=3" in request.target

        async def between(exchange: object) -> None:
            await api.create(run_manifest(namespace, f"late{len(asked)}"))
            asked.append(proxy.seen[-1])
            await passing(exchange)  # type: ignore[arg-type]

        proxy.on(is_list, between, times=100)
        async with Connection(Source(str(shared_cluster.kubeconfig(server=proxy.url))), "berth-tests") as connection:
            listing = await listed(WritableKubernetesStore(connection), "Run")
        names = [each.metadata.name for each in listing.resources if each.metadata.namespace == namespace]
        assert sorted(names) == sorted(["late0", *(f"r{index}" for index in range(10))])
        assert all(version_of(each) <= listing.version for each in listing.resources)
        assert len(asked) >= 4
        await api.clear(namespace)


async def test_of_nodes_only_the_metadata_is_asked_for(shared_cluster: Cluster) -> None:
    """Lists and watches of Nodes bring names and labels, and nothing of what the kubelet writes every few seconds."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"rack": "r1"}}}
    async with admin(shared_cluster) as api, proxying(shared_cluster) as proxy:
        proxy.on(lambda request: "/nodes?" in request.target, passing, times=2)
        async with serving(shared_cluster.kubeconfig(server=proxy.url)) as berth:
            version = int((await api.create(node))["metadata"]["resourceVersion"])
            await until(lambda: berth.core.ingest.views["Node"].version >= version, "the Node is seen")
        assert [b"as=PartialObjectMetadata" in request.head for request in proxy.seen] == [True, True]
        async with Connection(Source(str(shared_cluster.kubeconfig())), "berth-tests") as connection:
            (found,) = (await listed(WritableKubernetesStore(connection), "Node")).resources
        assert isinstance(found, Node)
        assert (found.metadata.name, found.metadata.labels) == ("n1", {"rack": "r1"})
        await api.send("DELETE", "/api/v1/nodes/n1")


async def test_the_command(shared_cluster: Cluster) -> None:
    """`berth-server serve --cluster kubernetes` places a Run, and ends in order."""
    async with admin(shared_cluster) as api:
        namespace = await api.new_namespace()
        flags = ("--cluster", "kubernetes", "--kubeconfig", str(shared_cluster.kubeconfig()), "--log-format", "json")
        process = Process(*flags, "--listen", "127.0.0.1:0", "--metrics-listen", "off")
        try:
            await asyncio.to_thread(process.until_serving)
            await add_pod(api, namespace, "p", {"runs": 1})
            await api.create(run_manifest(namespace, "a"))
            async with asyncio.timeout(60):
                while (await api.get("Run", namespace, "a")).get("status", {}).get("phase") != "Scheduled":
                    await asyncio.sleep(0.05)
            process.signal(signal.SIGTERM)
            assert await asyncio.to_thread(process.exit_code) == 0
        finally:
            process.close()
        await api.clear(namespace)
