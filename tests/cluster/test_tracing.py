"""A trace goes on to a real API server: the write of a bind names the bind's span, and nothing else names any."""

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from berth_server.app import wiring
from berth_server.observability.tracing import OtelTracer
from tests.cluster.api import admin
from tests.cluster.berth import serving, until
from tests.cluster.kruntimes import add_pod, beating, run_manifest
from tests.cluster.processes import Cluster
from tests.cluster.proxy import Request, passing, proxying

pytestmark = pytest.mark.cluster


def header(request: Request, name: str) -> str:
    """Return a header of a request; empty: it is not there."""
    lines = request.head.decode().split("\r\n")[1:]
    values = [value.strip() for key, _, value in (line.partition(":") for line in lines) if key.lower() == name]
    return ",".join(values)


async def test_the_write_of_a_bind_goes_on_with_its_span(
    shared_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver places a Run: the PATCH names the bind, which belongs to the cycle; no list or watch names any."""
    exporter = InMemorySpanExporter()
    monkeypatch.setattr(wiring, "otlp_tracer", lambda: OtelTracer(SimpleSpanProcessor(exporter)))
    async with admin(shared_cluster) as api, proxying(shared_cluster) as proxy:
        namespace = await api.new_namespace()
        pod = await add_pod(api, namespace, "p", {"runs": 1})
        async with beating(api, [pod]):
            proxy.on(lambda _: True, passing, times=10_000)
            async with serving(shared_cluster.kubeconfig(server=proxy.url), traces="otlp") as berth:
                await api.create(run_manifest(namespace, "a"))
                await until(lambda: berth.scheduled == 1, "the Run is counted as scheduled")
        await api.clear(namespace)
    (bind,) = [span for span in exporter.get_finished_spans() if span.name == "bind"]
    assert bind.context is not None
    assert bind.parent is not None
    assert bind.parent.trace_id == bind.context.trace_id
    (write,) = [request for request in proxy.seen if request.is_assignment]
    version, trace, parent, _ = header(write, "traceparent").split("-")
    assert (version, trace, parent) == ("00", f"{bind.context.trace_id:032x}", f"{bind.context.span_id:016x}")
    others = [request for request in proxy.seen if request is not write]
    assert any(request.is_watch for request in others)
    assert {header(request, "traceparent") for request in others} == {""}
