"""A trace goes on to a real API server: the write of a bind names the bind's span, and nothing else names any."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import grpc.aio
import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from berth.v1 import placement_service_pb2 as pb
from berth.v1 import resources_pb2
from berth.v1.placement_service_pb2_grpc import PlacementServiceStub
from berth_server.app import wiring
from berth_server.observability.tracing import OtelTracer
from tests.cluster.api import admin
from tests.cluster.berth import serving, until
from tests.cluster.kruntimes import add_pod, beating, run_manifest
from tests.cluster.processes import Cluster
from tests.cluster.proxy import Request, losing_the_answer, passing, proxying
from tests.e2e.process import Process

if TYPE_CHECKING:
    from opentelemetry.proto.trace.v1.trace_pb2 import Span

pytestmark = pytest.mark.cluster
TRACE: Final = "0af7651916cd43dd8448eb211c80319c"
PARENT: Final = "b7ad6b7169203331"
METADATA: Final = (("traceparent", f"00-{TRACE}-{PARENT}-01"), ("tracestate", "vendor=1"))


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """Takes spans as OpenTelemetry's collector does, those of one trace."""

    def __init__(self) -> None:
        self.spans: dict[str, Span] = {}

    async def Export(  # noqa: N802 -- named in the proto
        self, request: trace_service_pb2.ExportTraceServiceRequest, context: object
    ) -> trace_service_pb2.ExportTraceServiceResponse:
        """Keep them by their name."""
        found = [span for each in request.resource_spans for scope in each.scope_spans for span in scope.spans]
        self.spans |= {span.name: span for span in found if span.trace_id.hex() == TRACE}
        return trace_service_pb2.ExportTraceServiceResponse()


@asynccontextmanager
async def collecting() -> AsyncIterator[tuple[Collector, str]]:
    """Run a collector, and yield it and its URL."""
    collector, server = Collector(), grpc.aio.server()
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(collector, server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield collector, f"http://127.0.0.1:{port}"
    finally:
        await server.stop(None)


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


async def test_the_trace_of_a_caller(shared_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the whole command: what a caller names is in the spans, in the write, and in the line about it."""
    async with admin(shared_cluster) as api, proxying(shared_cluster) as proxy, collecting() as (collector, url):
        namespace = await api.new_namespace()
        await add_pod(api, namespace, "p", {"runs": 1})
        uid = (await api.create(run_manifest(namespace, "a")))["metadata"]["uid"]
        proxy.on(lambda request: request.is_assignment, losing_the_answer)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        kubeconfig = str(shared_cluster.kubeconfig(server=proxy.url))
        flags = ("--cluster", "kubernetes", "--kubeconfig", kubeconfig, "--driver", "off", "--traces", "otlp")
        process = Process(*flags, "--listen", "127.0.0.1:0", "--metrics-listen", "off", "--log-format", "json")
        try:
            async with grpc.aio.insecure_channel(await asyncio.to_thread(process.until_serving)) as channel:
                stub, key = (
                    PlacementServiceStub(channel),
                    resources_pb2.ObjectKey(namespace=namespace, name="a", uid=uid),
                )
                plan = await stub.Plan(pb.PlanRequest(item=resources_pb2.Item(run=key)), metadata=METADATA)
                with pytest.raises(grpc.aio.AioRpcError):
                    await stub.Bind(pb.BindRequest(reservation_id=plan.reserved.id), metadata=METADATA)
            line = await asyncio.to_thread(process.until, "outcome of a bind is unknown")
            process.signal(signal.SIGTERM)
            assert await asyncio.to_thread(process.exit_code) == 0
        finally:
            process.close()
        await api.clear(namespace)
    bind, cycle = collector.spans["bind"], collector.spans["scheduling_cycle"]
    assert (bind.parent_span_id.hex(), cycle.parent_span_id.hex()) == (PARENT, PARENT)
    assert (line["run_uid"], line["trace_id"]) == (uid, TRACE)
    (write,) = proxy.seen
    assert header(write, "traceparent").startswith(f"00-{TRACE}-{bind.span_id.hex()}-")
    assert header(write, "tracestate") == "vendor=1"
