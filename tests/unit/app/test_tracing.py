"""The spans of one cycle, and that tracing changes no decision."""

import sys
from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from berth_server.app.traced import TracedEngine
from berth_server.app.wiring import StartError, build_parts
from berth_server.config.file import Config
from berth_server.config.settings import Settings
from berth_server.observability.tracing import OtelTracer
from tests.builders import pod, run
from tests.fakes.log import NullLog
from tests.harness import PROFILE, Harness

Tree = dict[str, Any]


def tree(exporter: InMemorySpanExporter) -> Tree:
    """Return the spans by name, each with its children, in the order in which they began."""
    spans = sorted(exporter.get_finished_spans(), key=lambda span: span.start_time or 0)
    nodes: dict[int, Tree] = {}
    roots: Tree = {}
    for span in spans:
        assert span.context is not None
        parent = nodes[span.parent.span_id] if span.parent is not None else roots
        nodes[span.context.span_id] = parent[span.name] = {}
    return roots


async def test_the_tree_of_a_cycle(exporter: InMemorySpanExporter, tracer: OtelTracer) -> None:
    """One cycle of the driver, from the view to the write, is one tree; the bind belongs to it."""
    harness = await Harness(run("a"), pod("p1"), engine=TracedEngine(PROFILE, tracer), tracer=tracer).start()
    assert await harness.driver.step(wait=0) == 1
    await harness.driver.settle()
    phases: Tree = {name: {} for name in ("snapshot", "prefilter", "filter", "score", "reserve", "bind")}
    assert tree(exporter) == {"scheduling_cycle": phases}
    (cycle,) = [span for span in exporter.get_finished_spans() if span.name == "scheduling_cycle"]
    assert dict(cycle.attributes or {}) == {"run_uid": "ns/a"}


async def test_a_cycle_that_finds_nothing(exporter: InMemorySpanExporter, tracer: OtelTracer) -> None:
    """Without a candidate nothing is reserved or bound."""
    harness = await Harness(run("a"), engine=TracedEngine(PROFILE, tracer), tracer=tracer).start()
    assert await harness.driver.step(wait=0) == 1
    assert list(tree(exporter)["scheduling_cycle"]) == ["snapshot", "prefilter", "filter", "score"]


async def test_decisions_are_the_same(tracer: OtelTracer) -> None:
    """The traced way and the short way place alike."""
    world = [*(run(f"r{index}") for index in range(7)), *(pod(f"p{index}", capacity={"runs": 3}) for index in range(3))]
    plain = await Harness(*world).start()
    traced = await Harness(*world, engine=TracedEngine(PROFILE, tracer), tracer=tracer).start()
    for harness in (plain, traced):
        await harness.driver.step(wait=0)
        await harness.driver.settle()
    assert traced.placements() == plain.placements()
    assert len(plain.placements()) == 7


def test_it_is_off_by_default() -> None:
    """Nobody who does not ask for spans pays for them."""
    assert Settings().traces == "off"


def test_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the sentence has the fix."""
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace.export", None)
    with pytest.raises(StartError, match=r"needs the extra otel: pip install 'berth-scheduler\[otel\]'"):
        build_parts(Settings(traces="otlp"), Config(), NullLog())
