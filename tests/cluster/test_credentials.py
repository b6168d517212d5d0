"""Every way to a cluster: tokens, client certificates and plugins, and how each is renewed."""

import asyncio
import base64
import gc
import os
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trustme

from berth_server.kube import connection as connections
from berth_server.kube import credentials
from berth_server.kube.connection import JSON_TYPE, Connection
from berth_server.kube.credentials import CredentialsError, Source
from berth_server.placement.ports import RefusedError
from tests.cluster.api import JSON, Api
from tests.cluster.berth import until
from tests.cluster.kubeconfigs import Plugin, kubeconfig, unverified, user_of, whoami
from tests.cluster.processes import Cluster
from tests.cluster.secured import NAME, Secured

pytestmark = pytest.mark.cluster

NAMESPACES = "/api/v1/namespaces"


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every failure lead to a new reading, however short ago the last one was."""
    monkeypatch.setattr(connections, "_RENEW_PAUSE_SECONDS", -1.0)


def open_files() -> int:
    """Return how many descriptors this process has; 0 where that can't be known."""
    descriptors = Path("/proc/self/fd")
    return len(list(descriptors.iterdir())) if descriptors.exists() else 0


# --- contexts ---------------------------------------------------------------------------------------------------------


async def test_contexts(shared_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current context, another one by name, and the file that KUBECONFIG names."""
    users = {name: {"token": token} for name, token in shared_cluster.tokens.items()}
    path = kubeconfig(tmp_path, unverified(shared_cluster), **users)
    assert await whoami(path) == "admin"
    assert await whoami(path, "nobody") == "nobody"
    monkeypatch.setenv("KUBECONFIG", path)
    assert await whoami("") == "admin"


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
        kubeconfig(tmp_path, unverified(shared_cluster), admin={"token": "x"})
    elif content is not None:
        path.write_text(content)
    with pytest.raises(CredentialsError, match=want):
        await whoami(str(path), context)


@pytest.mark.usefixtures("at_once")
async def test_the_context_stays(shared_cluster: Cluster, tmp_path: Path) -> None:
    """Whoever makes another context the current one, or writes another server into it, moves no server that runs."""
    token, cluster = tmp_path / "token", unverified(shared_cluster)
    token.write_text("expired")
    users = {"first": {"tokenFile": str(token)}, "second": {"token": shared_cluster.tokens["nobody"]}}
    path = kubeconfig(tmp_path, cluster, **users)
    async with Connection(Source(path), "berth-tests") as connection:
        kubeconfig(tmp_path, cluster, **dict(reversed(users.items())))
        token.write_text(shared_cluster.tokens["admin"])
        assert await user_of(connection) == "admin"
        token.write_text("expired")
        kubeconfig(tmp_path, {"server": "https://elsewhere.example"}, **users)
        await connection._renew()
        assert connection.server == shared_cluster.url
        assert await user_of(connection) == "admin"


async def test_a_netrc_file_changes_nothing(
    shared_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a machine keeps for other programs never stands in for the credentials of the cluster."""
    netrc = tmp_path / "netrc"
    netrc.write_text("default login somebody password else\n")
    monkeypatch.setenv("NETRC", str(netrc))
    assert await whoami(str(shared_cluster.kubeconfig())) == "admin"


# --- tokens -----------------------------------------------------------------------------------------------------------


async def test_a_plugin_is_asked_again(shared_cluster: Cluster, tmp_path: Path) -> None:
    """A token that is no longer taken is replaced, and the request that found out succeeds."""
    plugin = Plugin(tmp_path)
    plugin.gives(token="expired")  # noqa: S106
    source = Source(kubeconfig(tmp_path, unverified(shared_cluster), plugin=plugin.user))
    async with Connection(source, "berth-tests") as connection:
        plugin.gives(token=shared_cluster.tokens["admin"])
        assert await user_of(connection) == "admin"
    assert plugin.calls == 2


async def test_a_plugin_is_asked_before_its_token_expires(shared_cluster: Cluster, tmp_path: Path) -> None:
    """A token that says when it expires is replaced a minute before, and not for every request."""
    plugin = Plugin(tmp_path)
    plugin.gives(token=shared_cluster.tokens["admin"], expirationTimestamp="2026-01-01T00:00:00Z")
    source = Source(kubeconfig(tmp_path, unverified(shared_cluster), plugin=plugin.user))
    async with Connection(source, "berth-tests") as connection:
        for _ in range(5):
            assert (await connection.request("GET", NAMESPACES)).code == 200
    assert plugin.calls == 2


async def test_a_plugin_that_fails_later(shared_cluster: Cluster, tmp_path: Path) -> None:
    """When the old token is no longer taken, what is said is why there is no new one."""
    plugin = Plugin(tmp_path)
    plugin.gives(token="expired")  # noqa: S106
    source = Source(kubeconfig(tmp_path, unverified(shared_cluster), plugin=plugin.user))
    async with Connection(source, "berth-tests") as connection:
        (tmp_path / "status").unlink()
        with pytest.raises(RefusedError, match=r"exec: sh ended with 1: cat: .*No such file") as raised:
            await connection.request("GET", NAMESPACES)
        assert raised.value.code == 401


async def test_a_plugin_that_hangs_later(
    shared_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for ever for a plugin that waits for somebody, and it is ended."""
    monkeypatch.setattr(connections, "_RENEW_SECONDS", 0.2)
    plugin = Plugin(tmp_path)
    plugin.gives(token="expired")  # noqa: S106
    source = Source(kubeconfig(tmp_path, unverified(shared_cluster), plugin=plugin.user))
    async with Connection(source, "berth-tests") as connection:
        (tmp_path / "status").unlink()
        os.mkfifo(tmp_path / "status")
        with pytest.raises(RefusedError, match=r"can't be had from .* in time"):
            await connection.request("GET", NAMESPACES)
        await until(lambda: not plugin.runs, "the plugin is gone")


async def test_a_token_in_a_file_is_read_again(shared_cluster: Cluster, tmp_path: Path) -> None:
    """A file may end with a line break; one that is no longer taken is read again, also by the watch that finds out."""
    token = tmp_path / "token"
    token.write_text("expired\n")
    source = Source(kubeconfig(tmp_path, unverified(shared_cluster), user={"tokenFile": "token"}))
    async with Connection(source, "berth-tests") as connection:
        token.write_text(f"{shared_cluster.tokens['admin']}\n")
        async with connection.stream(NAMESPACES, params={"watch": "1"}, accept=JSON_TYPE, silence=10.0) as watch:
            assert watch.status == 200
        assert await user_of(connection) == "admin"


@pytest.mark.usefixtures("at_once")
async def test_a_token_in_a_file_is_read_every_minute(
    shared_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new token is used although the old one is still taken; without the file the old one goes on."""
    monkeypatch.setattr(credentials, "FILES_AGE", timedelta(0))
    token = tmp_path / "token"
    token.write_text(shared_cluster.tokens["admin"])
    source = Source(kubeconfig(tmp_path, unverified(shared_cluster), user={"tokenFile": "token"}))
    async with Connection(source, "berth-tests") as connection:
        assert await user_of(connection) == "admin"
        token.write_text(shared_cluster.tokens["nobody"])
        assert await user_of(connection) == "nobody"
        token.unlink()
        assert await user_of(connection) == "nobody"


@dataclass(frozen=True)
class Pod:
    """The files that Kubernetes gives to a Pod, and no kubeconfig."""

    token: Path
    authority: Path


@pytest.fixture
def pod(shared_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pod:
    """Let this process be one, whose token is not taken."""
    given = Pod(tmp_path / "token", tmp_path / "ca.crt")
    given.token.write_text("old")
    given.authority.write_bytes(shared_cluster.certificate.read_bytes())
    url = urlsplit(shared_cluster.url)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", str(url.hostname))
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(url.port))
    monkeypatch.setattr("kubernetes_asyncio.config.incluster_config.SERVICE_TOKEN_FILENAME", str(given.token))
    monkeypatch.setattr("kubernetes_asyncio.config.incluster_config.SERVICE_CERT_FILENAME", str(given.authority))
    return given


async def test_the_token_of_a_pod_is_read_again(shared_cluster: Cluster, pod: Pod) -> None:
    """The kubelet renews the token, and the old one is refused one day."""
    async with Connection(Source(), "berth-tests") as connection:
        pod.token.write_text(shared_cluster.tokens["admin"])
        assert await user_of(connection) == "admin"


@pytest.mark.usefixtures("at_once")
async def test_the_token_of_a_pod_is_read_every_minute(
    shared_cluster: Cluster, pod: Pod, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An API server takes old tokens for long, and counts them as stale."""
    monkeypatch.setattr(credentials, "FILES_AGE", timedelta(0))
    async with Connection(Source(), "berth-tests") as connection:
        for user in ("admin", "nobody"):
            pod.token.write_text(shared_cluster.tokens[user])
            assert await user_of(connection) == user


@pytest.mark.usefixtures("at_once")
async def test_the_authority_of_a_pod_is_read_again(shared_cluster: Cluster, pod: Pod) -> None:
    """A cluster may get another authority while Berth runs."""
    pod.token.write_text(shared_cluster.tokens["admin"])
    pod.authority.write_bytes(trustme.CA().cert_pem.bytes())
    async with Connection(Source(), "berth-tests") as connection:
        with pytest.raises(RefusedError, match="is not one that the Pod that this runs in trusts: self-signed certif"):
            await user_of(connection)
        pod.authority.write_bytes(shared_cluster.certificate.read_bytes())
        assert await user_of(connection) == "admin"


# --- certificates -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["data", "files", "files beside the kubeconfig"])
async def test_client_certificates(secured: Secured, tmp_path: Path, where: str) -> None:
    """A user is who its certificate says, wherever that and the authority of the server are written down."""
    authority = secured.servers.cert_pem.bytes()
    certificate, key = secured.issue("jane")
    given = {"certificate-authority": authority, "client-certificate": certificate, "client-key": key}
    entries: dict[str, str] = {}
    for name, content in given.items():
        if where == "data":
            entries[f"{name}-data"] = base64.b64encode(content).decode()
        else:
            (tmp_path / name).write_bytes(content)
            entries[name] = str(tmp_path / name) if where == "files" else name
    trusted = {name: value for name, value in entries.items() if "authority" in name}
    cluster = {"server": secured.cluster.url, "tls-server-name": NAME, **trusted}
    shown = {name: value for name, value in entries.items() if name not in trusted}
    assert await whoami(kubeconfig(tmp_path, cluster, user=shown)) == "jane"


@pytest.mark.parametrize(
    ("change", "want"),
    [
        pytest.param(
            {"tls-server-name": ""}, "IP address mismatch, certificate is not valid for '127.0.0.1'", id="name"
        ),
        pytest.param({"certificate-authority-data": ""}, "(self-signed|unable to get local issuer)", id="the system's"),
        pytest.param(
            {"certificate-authority-data": base64.b64encode(trustme.CA().cert_pem.bytes()).decode()},
            "(self-signed|unable to get local issuer)",
            id="another authority",
        ),
    ],
)
async def test_a_server_that_is_not_trusted(secured: Secured, tmp_path: Path, change: JSON, want: str) -> None:
    """One sentence says which server, which file and what is wrong; nothing was sent."""
    cluster = {name: value for name, value in {**secured.entry, **change}.items() if value}
    path = kubeconfig(tmp_path, cluster, user={"token": secured.cluster.tokens["admin"]})
    said = f"^no connection to {secured.cluster.url}: its certificate is not one that context user in {path} trusts: "
    with pytest.raises(RefusedError, match=said + want) as raised:
        await whoami(path)
    assert raised.value.code == 0


@pytest.mark.parametrize("where", ["plugin", "files", "data"])
async def test_an_expired_certificate_is_replaced(secured: Secured, tmp_path: Path, where: str) -> None:
    """One that is no longer taken is read anew, also where it was rewritten in place, and the request succeeds."""
    plugin = Plugin(tmp_path)

    def write(pair: tuple[bytes, bytes]) -> str:
        plugin.gives_certificate(pair)
        for name, content in zip(("certificate", "key"), pair, strict=True):
            (tmp_path / name).write_bytes(content)
        certificate, key = (base64.b64encode(content).decode() for content in pair)
        users = {
            "plugin": plugin.user,
            "files": {"client-certificate": "certificate", "client-key": "key"},
            "data": {"client-certificate-data": certificate, "client-key-data": key},
        }
        return kubeconfig(tmp_path, secured.entry, user=users[where])

    async with Connection(Source(write(secured.issue("jane", expired=True))), "berth-tests") as connection:
        write(secured.issue("jane"))
        assert await user_of(connection) == "jane"


@pytest.mark.usefixtures("at_once")
async def test_an_expired_certificate_that_stays(secured: Secured, tmp_path: Path) -> None:
    """Without a new one the answer is the server's: not authenticated."""
    plugin = Plugin(tmp_path)
    plugin.gives_certificate(secured.issue("jane", expired=True))
    path = kubeconfig(tmp_path, secured.entry, user=plugin.user)
    async with Connection(Source(path), "berth-tests") as connection:
        assert (await connection.request("GET", NAMESPACES)).code == 401


@pytest.mark.usefixtures("at_once")
async def test_what_a_plugin_gives_may_change(secured: Secured, tmp_path: Path) -> None:
    """From a token to a certificate and back, and both at once, of which the server prefers the certificate."""
    plugin, token = Plugin(tmp_path), secured.cluster.tokens["admin"]
    certificate, key = (content.decode() for content in secured.issue("jane"))
    plugin.gives(token=token)
    path = kubeconfig(tmp_path, secured.entry, user=plugin.user)
    async with Connection(Source(path), "berth-tests") as connection:
        seen = [await user_of(connection)]
        for status in (
            {"clientCertificateData": certificate, "clientKeyData": key},
            {"token": token},
            {"token": token, "clientCertificateData": certificate, "clientKeyData": key},
        ):
            plugin.gives(**status)
            await connection._renew()
            seen.append(await user_of(connection))
    assert seen == ["admin", "jane", "admin", "jane"]


@pytest.mark.usefixtures("at_once")
async def test_an_authority_that_changes(secured: Secured, tmp_path: Path) -> None:
    """The request that meets a server of another authority reads the file again, and succeeds."""
    authority = tmp_path / "ca.crt"
    authority.write_bytes(trustme.CA().cert_pem.bytes())
    cluster = {"server": secured.cluster.url, "tls-server-name": NAME, "certificate-authority": "ca.crt"}
    path = kubeconfig(tmp_path, cluster, user={"token": secured.cluster.tokens["admin"]})
    async with Connection(Source(path), "berth-tests") as connection:
        with pytest.raises(RefusedError, match="not one that"):
            await user_of(connection)
        authority.write_bytes(secured.servers.cert_pem.bytes())
        assert await user_of(connection) == "admin"


@pytest.mark.usefixtures("at_once")
async def test_a_watch_outlives_its_certificate(secured: Secured, tmp_path: Path) -> None:
    """Before a certificate expires a new one is used for what is new. What runs goes on, over any number of them."""
    plugin = Plugin(tmp_path)
    plugin.gives_certificate(secured.issue("first"), seconds=30)
    path = kubeconfig(tmp_path, secured.entry, user=plugin.user)
    async with Connection(Source(path), "berth-tests") as connection:
        oldest = connection._session
        assert oldest is not None
        async with connection.stream(NAMESPACES, params={"watch": "1"}, accept=JSON_TYPE, silence=60.0) as watch:
            plugin.gives_certificate(secured.issue("second"), seconds=3600)
            assert await user_of(connection) == "second"
            for user in ("third", "fourth"):
                plugin.gives_certificate(secured.issue(user))
                await connection._renew()
                assert await user_of(connection) == user
            name = await Api(connection).new_namespace()
            while name.encode() not in await watch.content.readline():
                pass
            assert connection._retired == [oldest], "the others are closed already"
            assert not oldest.http.closed
        assert oldest.http.closed, "with the last that ran on it"
        assert connection._retired == []


@pytest.mark.usefixtures("at_once")
async def test_renewals_leave_nothing(secured: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many certificates a plugin gives: no file, no open descriptor, no session."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    plugin = Plugin(tmp_path)
    plugin.gives_certificate(secured.issue("0"))
    # The library keeps one file of an authority that is data until the process ends, and one of a certificate.
    (tmp_path / "ca.crt").write_bytes(secured.servers.cert_pem.bytes())
    cluster = {"server": secured.cluster.url, "tls-server-name": NAME, "certificate-authority": "ca.crt"}
    async with Connection(Source(kubeconfig(tmp_path, cluster, user=plugin.user)), "berth-tests") as connection:
        counts = []
        for number in range(1, 8):
            plugin.gives_certificate(secured.issue(str(number)))
            await connection._renew()
            assert await user_of(connection) == str(number)
            counts.append(open_files())
        assert len(set(counts[2:])) == 1, counts
    assert list(temporary.iterdir()) == []
    gc.collect()  # what was not closed says so now


async def test_a_watch_that_is_cut_leaves_nothing(secured: Secured, tmp_path: Path) -> None:
    """Closing waits for no good-bye of the server, for then nobody would wait for it."""
    path = kubeconfig(tmp_path, secured.entry, user={"token": secured.cluster.tokens["admin"]})
    counts = []
    for watches in (1, 9):  # what the loop opens for itself, it has opened after the first time
        async with Connection(Source(path), "berth-tests") as connection, AsyncExitStack() as stack:
            for _ in range(watches):
                watching = connection.stream(NAMESPACES, params={"watch": "1"}, accept=JSON_TYPE, silence=9.0)
                assert (await stack.enter_async_context(watching)).status == 200
        await asyncio.sleep(0)
        counts.append(open_files())
    assert counts[1] == counts[0]
