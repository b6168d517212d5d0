"""Proxies on the way to a cluster, by the kubeconfig and by the environment."""

import asyncio
import base64
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from berth_server.kube.connection import JSON_TYPE, Connection
from berth_server.kube.credentials import Source
from berth_server.placement.ports import RefusedError
from tests.cluster.connect_proxy import ConnectProxy, running_proxy
from tests.cluster.kubeconfigs import kubeconfig, whoami
from tests.cluster.proxy import passing, proxying
from tests.cluster.secured import NAME, Secured

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("where", ["kubeconfig", "variable"])
async def test_a_proxy(secured: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """The proxy learns its own password and the name of the server, and the server nothing of the proxy."""
    token = secured.cluster.tokens["admin"]
    async with proxying(secured.cluster, tls=secured.server_tls()) as recorder:
        recorder.on(lambda request: True, passing, times=100)
        port = urlsplit(recorder.url).port
        assert port is not None
        async with running_proxy(ConnectProxy(port, users=frozenset({"berth:p@ss/word"}))) as proxy:
            url = f"http://berth:p%40ss%2Fword@127.0.0.1:{proxy.port}"
            cluster = {**secured.entry, "server": f"https://{NAME}"}
            del cluster["tls-server-name"]
            if where == "kubeconfig":
                cluster["proxy-url"] = url
            else:
                monkeypatch.delenv("NO_PROXY", raising=False)
                monkeypatch.delenv("no_proxy", raising=False)
                monkeypatch.setenv("HTTPS_PROXY", url)
            assert await whoami(kubeconfig(tmp_path, cluster, user={"token": token})) == "admin"
    (head,) = proxy.heads
    assert head.startswith(f"CONNECT {NAME}:443 HTTP/1.1\r\n")
    assert "\r\nAuthorization:" not in head
    assert token not in head
    (asked,) = recorder.seen
    assert f"Authorization: Bearer {token}".encode() in asked.head
    assert b"proxy-authorization" not in asked.head.lower()


async def test_a_proxy_and_a_client_certificate(secured: Secured, tmp_path: Path) -> None:
    """Both ends of TLS are proven through a proxy, also under another name than the proxy was told."""
    certificate, key = (base64.b64encode(content).decode() for content in secured.issue("jane"))
    async with running_proxy(ConnectProxy(secured.port)) as proxy:
        cluster = {**secured.entry, "server": "https://other.example", "proxy-url": f"http://127.0.0.1:{proxy.port}"}
        user = {"client-certificate-data": certificate, "client-key-data": key}
        assert await whoami(kubeconfig(tmp_path, cluster, user=user)) == "jane"
    assert [head.split("\r\n")[0] for head in proxy.heads] == ["CONNECT other.example:443 HTTP/1.1"]


async def test_a_proxy_by_tls(secured: Secured, tmp_path: Path) -> None:
    """The way to the proxy may be TLS, too, whose certificate the same authority has signed."""
    async with running_proxy(ConnectProxy(secured.port), tls=secured.server_tls()) as proxy:
        cluster = {**secured.entry, "proxy-url": f"https://127.0.0.1:{proxy.port}"}
        user = {"token": secured.cluster.tokens["admin"]}
        assert await whoami(kubeconfig(tmp_path, cluster, user=user)) == "admin"
    assert len(proxy.heads) == 1


async def test_a_wrong_password_for_the_proxy(secured: Secured, tmp_path: Path) -> None:
    """What the proxy says comes through, without the password; nothing was sent."""
    async with running_proxy(ConnectProxy(secured.port, users=frozenset({"berth:right"}))) as proxy:
        cluster = {**secured.entry, "proxy-url": f"http://berth:wrong@127.0.0.1:{proxy.port}"}
        path = kubeconfig(tmp_path, cluster, user={"token": "x"})
        with pytest.raises(RefusedError, match=f"the proxy 127.0.0.1:{proxy.port} answers 407") as raised:
            await whoami(path)
    assert raised.value.code == 0
    assert "wrong" not in str(raised.value)


async def test_a_proxy_that_never_connects(secured: Secured, tmp_path: Path) -> None:
    """A watch, whose answer has no end, does not wait for ever for its beginning."""
    async with running_proxy(ConnectProxy(secured.port, silent=True)) as proxy:
        cluster = {**secured.entry, "proxy-url": f"http://127.0.0.1:{proxy.port}"}
        path = kubeconfig(tmp_path, cluster, user={"token": "x"})
        async with Connection(Source(path), "berth-tests") as connection:
            with pytest.raises(RefusedError, match=f"the proxy 127.0.0.1:{proxy.port} does not answer in time"):
                async with (
                    asyncio.timeout(30),
                    connection.stream("/api/v1/namespaces", params={"watch": "1"}, accept=JSON_TYPE, silence=0.2),
                ):
                    raise AssertionError("it never begins")
