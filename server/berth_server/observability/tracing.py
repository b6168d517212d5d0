"""Spans, for those who ask for them: off unless the extra `otel` is installed and tracing is switched on.

A trace comes in with a caller's metadata and goes out with our requests, as W3C Trace Context; OpenTelemetry reads and
writes that. What is traced names no label, namespace or resource, so no message of an exception either; the UID of a
Run is allowed, since spans are no metric series.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor

SERVICE_NAME: Final = "berth"
_NOTHING: Final = nullcontext()


class Tracer(Protocol):
    """Opens spans. A span opened inside of another one is its child."""

    def span(self, name: str, *, default_parent: object = None, **attributes: str) -> AbstractContextManager[object]:
        """Return a span to enter; it gives what a later span, opened elsewhere, names as its `default_parent`.

        That counts only where no span is open, and where the caller brought no trace. An Exception that leaves the span
        marks it as failed.
        """
        ...

    def failed(self, error: Exception) -> None:
        """Mark the span that is open as failed, for an error that does not leave it."""
        ...


class NoTracer:
    """The Tracer that costs nothing."""

    def span(self, name: str, *, default_parent: object = None, **attributes: str) -> AbstractContextManager[object]:  # noqa: ARG002 -- as the Protocol has it
        """See Tracer."""
        return _NOTHING

    def failed(self, error: Exception) -> None:
        """See Tracer."""


class TracingError(Exception):
    """Tracing was asked for and can't be had. The message is one sentence for the operator."""


class OtelTracer:
    """OpenTelemetry's SDK with one processor. Made by `otlp_tracer`, or in tests with an exporter in memory."""

    def __init__(self, processor: "SpanProcessor") -> None:
        # The SDK is an extra, and imported only by those who trace.
        from opentelemetry import context, trace  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.trace.propagation import tracecontext  # noqa: PLC0415

        # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES of the environment are heard, too.
        self._provider = TracerProvider(resource=Resource.create({"service.name": SERVICE_NAME}))
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("berth_server")
        self._attach, self._detach, self._current = context.attach, context.detach, context.get_current
        self._current_span, self._error = trace.get_current_span, trace.StatusCode.ERROR
        self._w3c = tracecontext.TraceContextTextMapPropagator()
        # They would write a line for each malformed header, with what the caller put there.
        for name in (tracecontext.__name__, trace.TraceState.__module__):
            logging.getLogger(name).setLevel(logging.ERROR)

    @contextmanager
    def span(self, name: str, *, default_parent: Any = None, **attributes: str) -> Iterator[object]:
        """See Tracer."""
        parent = None if self.trace_id() else default_parent
        with self._tracer.start_as_current_span(
            name, context=parent, attributes=attributes, record_exception=False, set_status_on_exception=False
        ):
            try:
                yield self._current()
            except Exception as error:
                self.failed(error)
                raise

    def failed(self, error: Exception) -> None:
        """See Tracer."""
        self._current_span().set_status(self._error, type(error).__name__)

    @contextmanager
    def join(self, metadata: Iterable[tuple[str, str | bytes]]) -> Iterator[None]:
        """Let spans that are opened inside belong to the trace that a caller's metadata names.

        Without one, or with one that is malformed, each of them begins a trace of its own.
        """
        carrier: dict[str, str] = {}
        for key, value in metadata:
            if isinstance(value, str):
                # Values of one key are one list (RFC 9110, section 5.3).
                carrier[key] = f"{carrier[key]},{value}" if key in carrier else value
        token = self._attach(self._w3c.extract(carrier))
        try:
            yield
        finally:
            self._detach(token)

    def headers(self) -> Mapping[str, str]:
        """Return what makes whoever gets a request go on with the span that is open; nothing if none of ours is."""
        carrier: dict[str, str] = {}
        # What a caller brought is not passed on as such: work done in its call need not be done for it.
        if not self._current_span().get_span_context().is_remote:
            self._w3c.inject(carrier)
        return carrier

    def trace_id(self) -> str:
        """Return the id of the trace that goes on here, as W3C writes it; empty: none does."""
        context = self._current_span().get_span_context()
        return f"{context.trace_id:032x}" if context.is_valid else ""

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
