"""A tracer, and where its spans end up."""

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from berth_server.observability.tracing import OtelTracer


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    """Where spans end up."""
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter: InMemorySpanExporter) -> Iterator[OtelTracer]:
    """A tracer that exports at once."""
    tracer = OtelTracer(SimpleSpanProcessor(exporter))
    yield tracer
    tracer.close()
