"""Which proxy is on the way to the API server: the kubeconfig's, or what HTTPS_PROXY and NO_PROXY say.

The rules are those of Go's net/http and so of kubectl, which differ from Python's: loopback addresses never go through
the environment's proxy, and NO_PROXY may have networks (10.0.0.0/8) and ports.
"""

import os
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import SplitResult, urlsplit

_SCHEMES: Final = ("http", "https")
_PORTS: Final = {"http": 80, "https": 443}


def proxy_of(server: str, configured: str | None) -> str | None:
    """Return the URL of the proxy for that server, or None.

    `configured`: the `proxy-url` of the kubeconfig, which nothing excepts. Raises ValueError, whose message does not
    have the password, for what is no HTTP proxy.
    """
    target = urlsplit(server)
    found = configured or (_variable(f"{target.scheme}_proxy") if _proxied(target) else "")
    if not found:
        return None
    url = found if "://" in found else f"http://{found}"
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES:
        raise ValueError(f"a proxy must be http or https, and {parts.scheme}://{parts.hostname} is not")
    if not parts.hostname or _port(parts) is None:
        raise ValueError(f"the URL of the proxy {parts.hostname or ''} has no host, or a port that is none")
    return url


def _variable(name: str) -> str:
    return os.environ.get(name.upper()) or os.environ.get(name) or ""


def _port(parts: SplitResult) -> int | None:
    with suppress(ValueError):
        return parts.port or _PORTS.get(parts.scheme)
    return None


def _proxied(target: SplitResult) -> bool:
    host, address = target.hostname or "", _address(target.hostname or "")
    if host in {"", "localhost"} or (address is not None and address.is_loopback):
        return False
    entries = _variable("no_proxy").lower().split(",")
    return not any(_excepts(entry.strip(), host, _port(target), address) for entry in entries)


def _excepts(entry: str, host: str, port: int | None, address: IPv4Address | IPv6Address | None) -> bool:
    """Whether an entry of NO_PROXY means that host: `*`, a network, an address or a domain, with or without a port."""
    if entry == "*":
        return True
    with suppress(ValueError):
        network = ip_network(entry, strict=False)
        return address is not None and address in network
    name, colon, wanted = entry.rpartition(":")
    if not colon:
        name, wanted = entry, ""
    name = name.strip("[]").removeprefix("*")
    if not name or (wanted and wanted != str(port)):
        return False
    if address is not None:
        return address == _address(name)
    return host == name or host.endswith(name if name.startswith(".") else f".{name}")


def _address(host: str) -> IPv4Address | IPv6Address | None:
    with suppress(ValueError):
        return ip_address(host)
    return None
