"""W3C Trace Context: from the metadata of a call, through the spans and the log lines of it, to our own requests."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import grpc
import grpc.aio
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from berth.v1 import placement_service_pb2 as pb
from berth.v1 import resources_pb2
from berth.v1.placement_service_pb2_grpc import PlacementServiceStub, add_PlacementServiceServicer_to_server
from berth_server.app.traced import TracedEngine
from berth_server.config.addresses import UnixAddress
from berth_server.observability.tracing import OtelTracer
from berth_server.placement.answers import BindOutcome
from berth_server.placement.failures import PlacementError
from berth_server.placement.ports import OutcomeUnknownError, RefusedError
from berth_server.rpc.admission import Admission
from berth_server.rpc.deadlines import Deadlines
from berth_server.rpc.guard import CallGuard
from berth_server.rpc.placement_servicer import PlacementServicer
from berth_server.rpc.server import build_server
from tests.builders import pod, run
from tests.fakes.placement_service import FakeService
from tests.harness import PROFILE, Harness, new_metrics

TRACE: Final = "0af7651916cd43dd8448eb211c80319c"
OTHER: Final = "a3ce929d0e0e47364bf92f3577b34da6"
PARENT: Final = "b7ad6b7169203331"
SAMPLED: Final = f"00-{TRACE}-{PARENT}-01"
Metadata = Sequence[tuple[str, str]]
HEADERS: Final[Metadata] = (("traceparent", SAMPLED), ("tracestate", "vendor=1"))


@dataclass(frozen=True)
class World:
    """A service behind a real gRPC server. `sent`: what would go along with each write to the API server."""

    harness: Harness
    stub: PlacementServiceStub
    sent: list[Mapping[str, str]]

    def item(self, name: str) -> resources_pb2.Item:
        """Name a Run."""
        return resources_pb2.Item(run=resources_pb2.ObjectKey(namespace="ns", name=name, uid=f"ns/{name}"))

    async def plan(self, metadata: Metadata = (), *, attempt_id: str = "") -> str:
        """Plan Run a, and return its reservation."""
        request = pb.PlanRequest(item=self.item("a"), attempt_id=attempt_id)
        response: pb.PlanResponse = await self.stub.Plan(request, metadata=metadata)
        return response.reserved.id

    async def bind(self, reservation: str, metadata: Metadata = (), *, attempt_id: str = "") -> None:
        """Bind it."""
        await self.stub.Bind(pb.BindRequest(reservation_id=reservation, attempt_id=attempt_id), metadata=metadata)


@asynccontextmanager
async def world(folder: Path, tracer: OtelTracer) -> AsyncIterator[World]:
    """Start one with two Runs, and a Pod that has room for both."""
    harness = Harness(
        run("a"), run("b"), pod("p1", capacity={"runs": 2}), engine=TracedEngine(PROFILE, tracer), tracer=tracer
    )
    await harness.start()
    sent: list[Mapping[str, str]] = []
    patch = harness.store.patch_status

    async def patch_status(*args: Any, **more: Any) -> Any:
        sent.append(tracer.headers())
        return await patch(*args, **more)

    harness.store.patch_status = patch_status  # type: ignore[method-assign]
    address, service = UnixAddress(folder / "berth.sock"), harness.service
    deadlines = Deadlines(clock=harness.clock)
    server = build_server([address], service, service.inspector, new_metrics(), deadlines=deadlines, tracer=tracer)
    await server.start()
    try:
        async with grpc.aio.insecure_channel(str(address)) as channel:
            yield World(harness, PlacementServiceStub(channel), sent)
    finally:
        await server.stop(5)


def named(exporter: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    """Return the finished spans of that name."""
    return [span for span in exporter.get_finished_spans() if span.name == name]


def only(exporter: InMemorySpanExporter, name: str) -> ReadableSpan:
    """Return the one span of that name."""
    (span,) = named(exporter, name)
    return span


def trace_of(span: ReadableSpan) -> str:
    """Return the trace that a span belongs to, as W3C writes it."""
    assert span.context is not None
    return f"{span.context.trace_id:032x}"


def id_of(span: ReadableSpan) -> str:
    """Return the id of a span, as W3C writes it."""
    assert span.context is not None
    return f"{span.context.span_id:016x}"


def parent_of(span: ReadableSpan) -> str:
    """Return the id of its parent; empty: it begins a trace."""
    return "" if span.parent is None else f"{span.parent.span_id:016x}"


async def test_the_spans_of_a_call_belong_to_its_caller(
    tmp_path: Path, exporter: InMemorySpanExporter, tracer: OtelTracer
) -> None:
    """Everything is in the caller's trace: the cycle under the caller's span, and the phases under the cycle."""
    async with world(tmp_path, tracer) as here:
        await here.plan(HEADERS)
    cycle = only(exporter, "scheduling_cycle")
    assert parent_of(cycle) == PARENT
    phases = [span for span in exporter.get_finished_spans() if span is not cycle]
    assert [span.name for span in phases] == ["snapshot", "prefilter", "filter", "score", "reserve"]
    assert {parent_of(span) for span in phases} == {id_of(cycle)}
    assert {trace_of(span) for span in exporter.get_finished_spans()} == {TRACE}


async def test_a_batch_is_one_call(tmp_path: Path, exporter: InMemorySpanExporter, tracer: OtelTracer) -> None:
    """Every cycle of a batch is a child of the one span that the caller named."""
    async with world(tmp_path, tracer) as here:
        plans = [pb.PlanRequest(item=here.item(name)) for name in ("a", "b")]
        await here.stub.PlanBatch(pb.PlanBatchRequest(plans=plans), metadata=HEADERS)
    assert [parent_of(span) for span in named(exporter, "scheduling_cycle")] == [PARENT, PARENT]


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param([], id="absent"),
        pytest.param([("tracestate", "vendor=1")], id="state-alone"),
        pytest.param([("traceparent", "swordfish")], id="no-form"),
        pytest.param([("traceparent", f"00-{TRACE}-{PARENT}")], id="no-flags"),
        pytest.param([("traceparent", f"00-{TRACE}-{PARENT}-01-more")], id="more-than-version-0-has"),
        pytest.param([("traceparent", f"ff-{TRACE}-{PARENT}-01")], id="version-ff"),
        pytest.param([("traceparent", f"00-{TRACE.upper()}-{PARENT}-01")], id="upper-case"),
        pytest.param([("traceparent", f"00-{'0' * 32}-{PARENT}-01")], id="trace-0"),
        pytest.param([("traceparent", f"00-{TRACE}-{'0' * 16}-01")], id="parent-0"),
        pytest.param([("traceparent", SAMPLED + "-" * 600)], id="too-long"),
        pytest.param([("traceparent-bin", SAMPLED)], id="of-another-name"),
    ],
)
async def test_what_names_no_trace_begins_one(
    tmp_path: Path,
    exporter: InMemorySpanExporter,
    tracer: OtelTracer,
    caplog: pytest.LogCaptureFixture,
    metadata: Metadata,
) -> None:
    """As W3C has it; the call is answered all the same, and nothing that the caller put there is logged."""
    sent: list[tuple[str, Any]] = [(key, value.encode() if key.endswith("-bin") else value) for key, value in metadata]
    with caplog.at_level(logging.WARNING):
        async with world(tmp_path, tracer) as here:
            assert await here.plan(sent)
    cycle = only(exporter, "scheduling_cycle")
    assert parent_of(cycle) == ""
    assert trace_of(cycle) != TRACE
    assert not caplog.records


@pytest.mark.parametrize(
    ("states", "want"),
    [
        pytest.param(["a=1,b=2"], "a=1,b=2", id="one"),
        pytest.param(["a=1", "b=2"], "a=1,b=2", id="in-two-values"),
        pytest.param(["no form"], None, id="malformed"),
        pytest.param([f"a={'x' * 600}"], None, id="too-long"),
    ],
)
async def test_the_state_goes_along(
    tmp_path: Path, tracer: OtelTracer, caplog: pytest.LogCaptureFixture, states: list[str], want: str | None
) -> None:
    """What other vendors keep in a trace is passed on; a malformed one is dropped and nothing else is lost."""
    metadata = [("traceparent", SAMPLED), *(("tracestate", state) for state in states)]
    with caplog.at_level(logging.WARNING):
        async with world(tmp_path, tracer) as here:
            await here.bind(await here.plan(), metadata)
    (headers,) = here.sent
    assert headers["traceparent"].startswith(f"00-{TRACE}-")
    assert headers.get("tracestate") == want
    assert not caplog.records


class TestBind:
    """Whose child a bind is, and what goes on to the API server."""

    @pytest.mark.parametrize(
        ("attempted", "metadata", "want"),
        [
            pytest.param(True, HEADERS, "caller", id="attempt-and-caller"),
            pytest.param(False, HEADERS, "caller", id="caller"),
            pytest.param(True, (), "cycle", id="attempt"),
            pytest.param(False, (), "nobody", id="neither"),
        ],
    )
    async def test_its_parent(
        self,
        tmp_path: Path,
        exporter: InMemorySpanExporter,
        tracer: OtelTracer,
        attempted: bool,  # noqa: FBT001
        metadata: Metadata,
        want: str,
    ) -> None:
        """The caller of this Bind, if it named a span; else the cycle of the attempt, if there is one."""
        async with world(tmp_path, tracer) as here:
            popped = await here.harness.service.pop(max_items=1, wait=0) if attempted else ()
            attempt_id = popped[0].attempt_id if popped else ""
            reservation = await here.plan((("traceparent", f"00-{OTHER}-{PARENT}-01"),), attempt_id=attempt_id)
            await here.bind(reservation, metadata, attempt_id=attempt_id)
        bind, cycle = only(exporter, "bind"), only(exporter, "scheduling_cycle")
        assert parent_of(bind) == {"caller": PARENT, "cycle": id_of(cycle), "nobody": ""}[want]
        assert {"caller": TRACE, "cycle": OTHER}.get(want, trace_of(bind)) == trace_of(bind)
        assert here.sent[0]["traceparent"].startswith(f"00-{trace_of(bind)}-{id_of(bind)}-")

    async def test_one_that_joins_a_write(self, exporter: InMemorySpanExporter, tracer: OtelTracer) -> None:
        """There is one write, so one span, and it belongs to whoever began it."""
        harness = await Harness(run("a"), pod("p1"), tracer=tracer, held=True).start()
        reservation = await harness.reserve("a")
        calls = []
        for trace in (TRACE, OTHER):
            with tracer.join([("traceparent", f"00-{trace}-{PARENT}-01")]):
                calls.append(asyncio.create_task(harness.bind(reservation.id)))
            await harness.rest()
        await harness.store.answer(harness.store.writes[0])
        assert [answer.outcome for answer in await asyncio.gather(*calls)] == [BindOutcome.BOUND, BindOutcome.BOUND]
        assert trace_of(only(exporter, "bind")) == TRACE

    async def test_one_that_is_not_sampled(
        self, tmp_path: Path, exporter: InMemorySpanExporter, tracer: OtelTracer
    ) -> None:
        """What the caller decided holds: nothing is exported, and the API server is told so."""
        async with world(tmp_path, tracer) as here:
            reservation = await here.plan([("traceparent", f"00-{TRACE}-{PARENT}-00")])
            await here.bind(reservation, [("traceparent", f"00-{TRACE}-{PARENT}-00")])
        assert not exporter.get_finished_spans()
        version, trace, parent, flags = here.sent[0]["traceparent"].split("-")
        assert (version, trace, flags) == ("00", TRACE, "00")
        assert parent != PARENT

    @pytest.mark.parametrize(
        ("failure", "want_lines"),
        [
            pytest.param(OutcomeUnknownError("lost: ns/a"), ["outcome of a bind is unknown"], id="unknown"),
            pytest.param(RefusedError("ns/a: no", code=403, reason="Forbidden"), [], id="refused"),
            pytest.param(ValueError("ns/a"), ["bind failed by a bug"], id="bug"),
        ],
    )
    async def test_one_that_fails(
        self,
        exporter: InMemorySpanExporter,
        tracer: OtelTracer,
        monkeypatch: pytest.MonkeyPatch,
        failure: Exception,
        want_lines: list[str],
    ) -> None:
        """Its span has the type of the error, and no name; the log line has the rest, in the same trace."""
        harness = await Harness(run("a"), pod("p1"), tracer=tracer).start()
        told: list[tuple[str, str]] = []

        def tell(line: str, **_: object) -> None:
            told.append((line, tracer.trace_id()))

        async def fail(*_: object) -> int:
            raise failure

        for severity in ("warning", "exception"):
            monkeypatch.setattr(harness.log, severity, tell)
        monkeypatch.setattr(harness.writer, "assign", fail)
        with pytest.raises(PlacementError):
            await harness.bind((await harness.reserve("a")).id)
        bind = only(exporter, "bind")
        assert told == [(line, trace_of(bind)) for line in want_lines]
        assert (bind.status.is_ok, bind.status.description) == (False, type(failure).__name__)
        assert not bind.events


async def test_a_cycle_that_fails(exporter: InMemorySpanExporter, tracer: OtelTracer) -> None:
    """An error that leaves a span marks it by its type alone."""
    harness = await Harness(run("a"), pod("p1"), tracer=tracer).start()
    await harness.reserve("a", owner="somebody")
    with pytest.raises(PlacementError):
        await harness.plan("a", owner="else")
    cycle = only(exporter, "scheduling_cycle")
    assert (cycle.status.is_ok, cycle.status.description, cycle.events) == (False, "PlacementError", ())


def test_nothing_goes_along_with_what_is_not_ours(tracer: OtelTracer) -> None:
    """Outside of our spans no request names a trace, even inside of a call whose caller named one."""
    assert tracer.headers() == {}
    with tracer.join(HEADERS):
        assert (tracer.headers(), tracer.trace_id()) == ({}, TRACE)
    assert tracer.trace_id() == ""


class _Registry:
    """Keeps the handlers that a guard wraps."""

    def add_generic_rpc_handlers(self, handlers: Sequence[grpc.GenericRpcHandler]) -> None:
        """See grpc.aio.Server."""
        (self.handlers,) = handlers


class _Call:
    """A call that counts how often somebody looks at its metadata."""

    looks = 0

    def time_remaining(self) -> float:
        """See ServicerContext."""
        return 1.0

    def peer(self) -> str:
        """See ServicerContext."""
        return "unix:"

    def invocation_metadata(self) -> Metadata:
        """See ServicerContext."""
        self.looks += 1
        return HEADERS


@pytest.mark.parametrize(("traced", "want"), [pytest.param(False, 0, id="off"), pytest.param(True, 1, id="on")])
async def test_without_tracing_nobody_looks_at_the_metadata(tracer: OtelTracer, traced: bool, want: int) -> None:  # noqa: FBT001
    """It costs time, so it is looked at by those who trace, once a call."""
    registry, call, deadlines = _Registry(), _Call(), Deadlines()
    server: Any = registry
    guard: Any = CallGuard(server, Admission(), new_metrics(), deadlines, tracer if traced else None)
    add_PlacementServiceServicer_to_server(PlacementServicer(FakeService(), deadlines), guard)
    details: Any = SimpleNamespace(method="/berth.v1.PlacementService/Release")
    handler: Any = registry.handlers.service(details)
    response = await handler.unary_unary(pb.ReleaseRequest(reservation_id="r").SerializeToString(), call)
    assert (response.released, call.looks) == (True, want)
