"""Spans, for those who ask for them: off unless the extra `otel` is installed and tracing is switched on.

What is traced names no label, namespace or resource; the UID of a Run is allowed, since spans are no metric series.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor

SERVICE_NAME: Final = "berth"
_NOTHING: Final = nullcontext()


class Tracer(Protocol):
    """Opens spans. A span opened inside of another one is its child."""

    def span(self, name: str, *, parent: object = None, **attributes: str) -> AbstractContextManager[object]:
        """Return a span to enter; it gives what a later span, opened elsewhere, names as its `parent`."""
        ...


class NoTracer:
    """The Tracer that costs nothing."""

    def span(self, name: str, *, parent: object = None, **attributes: str) -> AbstractContextManager[object]:  # noqa: ARG002 -- as the Protocol has it
        """See Tracer."""
        return _NOTHING


class TracingError(Exception):
    """Tracing was asked for and can't be had. The message is one sentence for the operator."""


class OtelTracer:
    """OpenTelemetry's SDK with one processor. Made by `otlp_tracer`, or in tests with an exporter in memory."""

    def __init__(self, processor: "SpanProcessor") -> None:
        # The SDK is an extra, and imported only by those who trace.
        from opentelemetry import context  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415

        # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES of the environment are heard, too.
        self._provider = TracerProvider(resource=Resource.create({"service.name": SERVICE_NAME}))
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("berth_server")
        self._current: Callable[[], Any] = context.get_current

    @contextmanager
    def span(self, name: str, *, parent: Any = None, **attributes: str) -> Iterator[object]:
        """See Tracer."""
        with self._tracer.start_as_current_span(name, context=parent, attributes=attributes):
            yield self._current()

    def close(self) -> None:
        """Send what is left and stop."""
        self._provider.shutdown()


def otlp_tracer() -> OtelTracer:
    """Return a tracer that exports by OTLP over gRPC to OTEL_EXPORTER_OTLP_ENDPOINT. Raises TracingError."""
    try:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError as error:
        raise TracingError(
            f"--traces otlp needs the extra otel: pip install 'berth-scheduler[otel]' ({error})"
        ) from None
    return OtelTracer(BatchSpanProcessor(OTLPSpanExporter()))
