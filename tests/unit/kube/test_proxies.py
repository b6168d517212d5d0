"""Which proxy is on the way: the rules of Go's net/http, which kubectl follows."""

import pytest

from berth_server.kube.proxies import proxy_of

SERVER = "https://api.example:6443"
PROXY = {"HTTPS_PROXY": "http://p:3128"}


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what the machine says."""
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.parametrize(
    ("server", "configured", "environment", "want"),
    [
        pytest.param(SERVER, None, {}, None, id="none"),
        pytest.param(SERVER, None, PROXY, "http://p:3128", id="variable"),
        pytest.param(SERVER, None, {"https_proxy": "http://u:x@p:3128"}, "http://u:x@p:3128", id="with credentials"),
        pytest.param(SERVER, None, {"HTTPS_PROXY": "p:3128"}, "http://p:3128", id="without a scheme"),
        pytest.param(SERVER, None, {"HTTPS_PROXY": ""}, None, id="empty"),
        pytest.param(SERVER, None, {"HTTP_PROXY": "http://p:3128"}, None, id="of another scheme"),
        pytest.param("http://api.example", None, {"HTTP_PROXY": "http://p:3128"}, "http://p:3128", id="of HTTP"),
        pytest.param(SERVER, None, {"ALL_PROXY": "http://p:3128"}, None, id="of all is not known"),
        pytest.param("https://localhost:6443", None, PROXY, None, id="localhost"),
        pytest.param("https://127.0.0.1:6443", None, PROXY, None, id="loopback"),
        pytest.param("https://[::1]:6443", None, PROXY, None, id="loopback IPv6"),
        pytest.param("https://127.0.0.1:6443", "http://q:1", PROXY, "http://q:1", id="kubeconfig has loopback too"),
        pytest.param(SERVER, "http://q:1", PROXY, "http://q:1", id="kubeconfig wins"),
        pytest.param(SERVER, "http://q:1", {"NO_PROXY": "*"}, "http://q:1", id="kubeconfig excepts nothing"),
    ],
)
def test_the_proxy(
    monkeypatch: pytest.MonkeyPatch, server: str, configured: str | None, environment: dict[str, str], want: str | None
) -> None:
    """The kubeconfig's, else the environment's, but not for this machine."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert proxy_of(server, configured) == want


@pytest.mark.parametrize(
    ("host", "exceptions", "want_proxied"),
    [
        pytest.param("api.example", "example", False, id="domain"),
        pytest.param("example", "example", False, id="domain itself"),
        pytest.param("api.example", ".example", False, id="subdomain"),
        pytest.param("example", ".example", True, id="subdomain is not the domain"),
        pytest.param("api.example", "*.example", False, id="star"),
        pytest.param("example", "*.example", True, id="star is not the domain"),
        pytest.param("notexample", "example", True, id="another domain"),
        pytest.param("API.Example", "api.EXAMPLE", False, id="case"),
        pytest.param("api.example", "a.b, ,api.example", False, id="one of several"),
        pytest.param("api.example", "api.example:6443", False, id="port"),
        pytest.param("api.example", "api.example:443", True, id="another port"),
        pytest.param("api.example", "*", False, id="everything"),
        pytest.param("api.example", "a.b,*", False, id="everything among others"),
        pytest.param("api.example", "", True, id="nothing"),
        pytest.param("10.96.0.1", "10.96.0.1", False, id="address"),
        pytest.param("10.96.0.1", "10.96.0.1:6443", False, id="address and port"),
        pytest.param("10.96.0.1", "10.96.0.1:443", True, id="address and another port"),
        pytest.param("10.96.0.1", "10.0.0.0/8", False, id="network"),
        pytest.param("10.96.0.1", "10.96.3.7/16", False, id="network by an address in it"),
        pytest.param("10.96.0.1", "192.168.0.0/16", True, id="another network"),
        pytest.param("10.96.0.1", "96.0.1", True, id="end of an address"),
        pytest.param("[fd00::1]", "fd00::/8", False, id="network IPv6"),
        pytest.param("[fd00::1]", "fd00::1", False, id="address IPv6"),
        pytest.param("[fd00::1]", "[fd00::1]:6443", False, id="address IPv6 and port"),
        pytest.param("api.example", "10.0.0.0/8", True, id="network and a name"),
    ],
)
def test_exceptions(monkeypatch: pytest.MonkeyPatch, host: str, exceptions: str, *, want_proxied: bool) -> None:
    """What NO_PROXY may have."""
    monkeypatch.setenv("HTTPS_PROXY", "http://p:3128")
    monkeypatch.setenv("NO_PROXY", exceptions)
    assert (proxy_of(f"https://{host}:6443", None) is not None) == want_proxied


@pytest.mark.parametrize(
    ("url", "want"),
    [
        pytest.param("socks5://u:secret@p:1080", "must be http or https, and socks5://p is not", id="SOCKS"),
        pytest.param("http://u:secret@:3128", "has no host", id="no host"),
        pytest.param("http://u:secret@p:99999", "the proxy p has", id="no such port"),
        pytest.param("http://u:secret@p:x", "the proxy p has", id="no port"),
    ],
)
def test_no_proxy_at_all(url: str, want: str) -> None:
    """What can't be used is said without the password."""
    with pytest.raises(ValueError, match=want) as raised:
        proxy_of(SERVER, url)
    assert "secret" not in str(raised.value)
