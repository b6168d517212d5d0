"""How Berth gets to a cluster: credentials, rights, APIs that are not there yet, and the command itself."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from berth_server.kube import informer
from berth_server.kube.connection import Connection
from berth_server.kube.credentials import CredentialsError, Source
from berth_server.objects.decode import version_of
from berth_server.objects.resources import Node
from tests.cluster.api import JSON, Api, WritableKubernetesStore, admin
from tests.cluster.berth import Berth, built, serving, until
from tests.cluster.conftest import CRDS
from tests.cluster.kruntimes import add_pod, in_parallel, run_manifest
from tests.cluster.processes import Cluster, install
from tests.cluster.proxy import Request, passing, proxying
from tests.e2e.process import Process
from tests.listing import listed

pytestmark = pytest.mark.cluster

SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


async def whoami(source: Source) -> str:
    """Return the user that the API server takes us for."""
    async with Connection(source, "berth-tests") as connection:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        name: str = (await Api(connection).send("POST", SELF, review))["status"]["userInfo"]["username"]
        return name


def kubeconfig(cluster: Cluster, folder: Path, **users: JSON) -> str:
    """Write a kubeconfig with a context for each user, whose current context is the first."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": next(iter(users)),
        "clusters": [{"name": "c", "cluster": {"server": cluster.url, "insecure-skip-tls-verify": True}}],
        "users": [{"name": name, "user": user} for name, user in users.items()],
        "contexts": [{"name": name, "context": {"cluster": "c", "user": name}} for name in users],
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(content))
    return str(path)


def plugin(folder: Path, **status: str) -> JSON:
    """Return a user whose token comes from an exec plugin, which reads it from `folder/token` and counts its calls."""
    code = f"""
import json, pathlib
folder = pathlib.Path({str(folder)!r})
with (folder / "calls").open("a") as calls:
    calls.write("x")
status = {{"token": (folder / "token").read_text(), **{status!r}}}
print(json.dumps({{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}}))
"""
    (folder / "plugin.py").write_text(code)
    version = "client.authentication.k8s.io/v1"
    return {
        "exec": {
            "apiVersion": version,
            "command": sys.executable,
            "args": [str(folder / "plugin.py")],
            "interactiveMode": "Never",
        }
    }


async def test_contexts(shared_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current context, another one by name, and the file that KUBECONFIG names."""
    users = {name: {"token": token} for name, token in shared_cluster.tokens.items()}
    path = kubeconfig(shared_cluster, tmp_path, **users)
    assert await whoami(Source(path)) == "admin"
    assert await whoami(Source(path, "nobody")) == "nobody"
    monkeypatch.setenv("KUBECONFIG", path)
    assert await whoami(Source()) == "admin"


@pytest.mark.parametrize(
    ("context", "content", "want"),
    [
        pytest.param("", None, "there is no kubeconfig file", id="no file"),
        pytest.param("missing", "ok", "missing", id="no such context"),
        pytest.param("", "a: [", "can't be had from", id="no yaml"),
    ],
)
async def test_no_way_to_the_cluster(
    shared_cluster: Cluster, tmp_path: Path, context: str, content: str | None, want: str
) -> None:
    """One sentence for the operator."""
    path = tmp_path / "config"
    if content == "ok":
        kubeconfig(shared_cluster, tmp_path, admin={"token": "x"})
    elif content is not None:
        path.write_text(content)
    with pytest.raises(CredentialsError, match=want):
        await whoami(Source(str(path), context))


async def test_a_netrc_file_changes_nothing(
    shared_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a machine keeps for other programs never stands in for the credentials of the cluster."""
    netrc = tmp_path / "netrc"
    netrc.write_text("default login somebody password else\n")
    monkeypatch.setenv("NETRC", str(netrc))
    assert await whoami(Source(str(shared_cluster.kubeconfig()))) == "admin"


async def test_a_plugin_is_asked_again(shared_cluster: Cluster, tmp_path: Path) -> None:
    """A token that is no longer taken is replaced, and the request that found out succeeds."""
    (tmp_path / "token").write_text(shared_cluster.tokens["admin"])
    source = Source(kubeconfig(shared_cluster, tmp_path, plugin=plugin(tmp_path)))
    async with Connection(source, "berth-tests") as connection:
        assert (await connection.request("GET", "/api/v1/namespaces")).code == 200
        session = connection._session
        assert session is not None
        session.client.configuration.api_key["BearerToken"] = "Bearer expired"
        assert (await connection.request("GET", "/api/v1/namespaces")).code == 200
    assert (tmp_path / "calls").read_text() == "xx"


async def test_a_plugin_is_asked_before_its_token_expires(shared_cluster: Cluster, tmp_path: Path) -> None:
    """A token that says when it expires is replaced a minute before, and not for every request."""
    (tmp_path / "token").write_text(shared_cluster.tokens["admin"])
    user = plugin(tmp_path, expirationTimestamp="2026-01-01T00:00:00Z")
    async with Connection(Source(kubeconfig(shared_cluster, tmp_path, plugin=user)), "berth-tests") as connection:
        for _ in range(5):
            assert (await connection.request("GET", "/api/v1/namespaces")).code == 200
    assert (tmp_path / "calls").read_text() == "xx"


async def test_the_token_of_a_pod_is_read_again(
    shared_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a Pod the credentials are files; the kubelet renews the token, and the old one is refused one day."""
    token = tmp_path / "token"
    certificate = shared_cluster.folder / "certificates" / "apiserver.crt"
    host, _, port = shared_cluster.url.removeprefix("https://").partition(":")
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    monkeypatch.setattr("kubernetes_asyncio.config.incluster_config.SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr("kubernetes_asyncio.config.incluster_config.SERVICE_CERT_FILENAME", str(certificate))
    token.write_text("old")
    async with Connection(Source(), "berth-tests") as connection:
        token.write_text(shared_cluster.tokens["admin"])
        assert (await connection.request("GET", "/api/v1/namespaces")).code == 200


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
