"""What it means that no answer came: either nothing was sent, or nobody knows. Pure.

Here errors of the HTTP client become sentences. Their `repr` must not: it has the headers of the request, and so the
credentials.
"""

import ssl
from urllib.parse import urlsplit

import aiohttp

from berth_server.kube.verdicts import UnavailableError
from berth_server.placement.ports import KubeError, RefusedError


def outage(error: Exception, server: str, trusted_by: str, proxy: str | None) -> KubeError:
    """Return RefusedError (code 0) if no connection came about, so nothing was sent; else UnavailableError.

    `trusted_by`: what says whom to trust. `proxy`: its URL; neither user nor password gets into the message.
    """
    match error:
        case aiohttp.ClientHttpProxyError():
            return _unreachable(server, f"{_name(proxy)} answers {error.status} {error.message}")
        case aiohttp.ClientConnectorCertificateError(certificate_error=ssl.SSLCertVerificationError() as why):
            reason = why.verify_message.removesuffix(".")
            return _unreachable(server, f"its certificate is not one that {trusted_by} trusts: {reason}")
        case aiohttp.ClientProxyConnectionError():
            return _unreachable(server, f"{_name(proxy)} can't be reached: {error.strerror or error.os_error}")
        case aiohttp.ClientConnectorError():
            return _unreachable(server, error.strerror or str(error.os_error))
        case aiohttp.ConnectionTimeoutError():
            return _unreachable(server, f"{_name(proxy) if proxy else 'it'} does not answer in time")
        case TimeoutError():
            return UnavailableError(f"no answer from {server} in time")
        case aiohttp.ClientResponseError():
            return UnavailableError(f"the answer of {server} is no HTTP: {error.message!r}")
        case _:
            return UnavailableError(f"the connection to {server} was lost: {error!r}")


def _unreachable(server: str, why: str) -> RefusedError:
    return RefusedError(f"no connection to {server}: {why}", code=0, reason="Unreachable")


def _name(proxy: str | None) -> str:
    return f"the proxy {urlsplit(proxy or '').netloc.rpartition('@')[2]}"
