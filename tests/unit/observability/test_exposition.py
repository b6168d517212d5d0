"""Metrics over HTTP."""

import urllib.request

import pytest
from prometheus_client import CollectorRegistry, Gauge

from berth_server.observability.exposition import ExpositionError, serve_metrics


def test_serves_the_registry_and_gives_the_port_back() -> None:
    """Prometheus reads what was set; after close the port is free for the next server."""
    registry = CollectorRegistry()
    Gauge("berth_leader", "1 on the leader.", registry=registry).set(1)
    exposition = serve_metrics(registry, "127.0.0.1", 0)
    try:
        url = f"http://127.0.0.1:{exposition.port}/metrics"
        with urllib.request.urlopen(url) as response:
            assert b"berth_leader 1.0" in response.read()
    finally:
        exposition.close()
    serve_metrics(registry, "127.0.0.1", exposition.port).close()


def test_a_port_in_use_is_one_sentence() -> None:
    """The operator reads which address, and why not."""
    first = serve_metrics(CollectorRegistry(), "127.0.0.1", 0)
    try:
        with pytest.raises(ExpositionError) as caught:
            serve_metrics(CollectorRegistry(), "127.0.0.1", first.port)
    finally:
        first.close()
    assert str(caught.value) == f"cannot serve metrics on 127.0.0.1:{first.port}: address already in use"


def test_an_address_of_another_machine_is_one_sentence() -> None:
    """Whatever the system says, it is said with the address."""
    with pytest.raises(ExpositionError) as caught:
        serve_metrics(CollectorRegistry(), "192.0.2.1", 0)
    assert str(caught.value) == "cannot serve metrics on 192.0.2.1:0: cannot assign requested address"
