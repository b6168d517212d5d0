"""Serves the metrics over HTTP, for Prometheus. A thread of prometheus_client: it must not touch the event loop."""

from dataclasses import dataclass
from threading import Thread
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, start_http_server


class ExpositionError(Exception):
    """The address can't be served on. The message is one sentence for the operator."""


@dataclass(frozen=True, slots=True)
class Exposition:
    """A running endpoint. `port` is the real one, also when 0 was asked for."""

    port: int
    _server: WSGIServer
    _thread: Thread

    def close(self) -> None:
        """Stop serving and give the port back."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def serve_metrics(registry: CollectorRegistry, host: str, port: int) -> Exposition:
    """Serve `registry` on http://host:port/metrics. Raises ExpositionError when that is not possible."""
    try:
        server, thread = start_http_server(port, addr=host, registry=registry)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ExpositionError(f"cannot serve metrics on {host}:{port}: {reason}") from error
    return Exposition(server.server_port, server, thread)
