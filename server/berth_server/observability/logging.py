"""Log lines: JSON for machines, text for people, both with the same keys. Called once by the composition root.

Lines of libraries (grpc, asyncio) go the same way. No line may carry a token or a dump of labels.
"""

import logging
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

LogFormat = Literal["json", "text"]


def configure_logging(
    log_format: LogFormat | None = None,
    *,
    stream: TextIO | None = None,
    level: str = "info",
    trace_id: Callable[[], str] | None = None,
) -> None:
    """Send all log lines to `stream` (default: stdout), as `log_format`, or by default text on a terminal, else JSON.

    Keys come in the order ts (RFC 3339, UTC), level, msg, then what the caller bound. `trace_id` tells the trace that a
    line belongs to, empty for none. Calling again replaces all.
    """
    stream = stream or sys.stdout
    threshold = logging.getLevelNamesMapping()[level.upper()]
    text = stream.isatty() if log_format is None else log_format == "text"
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
        structlog.processors.StackInfoRenderer(),
    ]
    if trace_id is not None:
        shared.append(_with_trace(trace_id))
    tail = _text_tail(stream) if text else _json_tail()
    structlog.configure(
        processors=[*shared, *tail],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.WriteLoggerFactory(stream),
        cache_logger_on_first_use=False,  # loggers of modules are made before this call
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *tail],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # Libraries tell at info what only their authors need.
    root.setLevel(max(threshold, logging.WARNING))


def _json_tail() -> list[Processor]:
    return [
        structlog.processors.format_exc_info,
        structlog.processors.EventRenamer("msg"),
        _in_order,
        structlog.processors.JSONRenderer(),
    ]


def _text_tail(stream: TextIO) -> list[Processor]:
    colors = stream.isatty() and not os.environ.get("NO_COLOR")
    renderer = structlog.dev.ConsoleRenderer(
        colors=colors,
        event_key="msg",
        timestamp_key="ts",
        pad_event_to=0,
        exception_formatter=structlog.dev.plain_traceback,
    )
    return [structlog.processors.EventRenamer("msg"), renderer]


def _with_trace(trace_id: Callable[[], str]) -> Processor:
    def add(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        found = trace_id()
        if found:
            event["trace_id"] = found
        return event

    return add


def _in_order(_logger: WrappedLogger, _method: str, event: EventDict) -> Mapping[str, Any]:
    first = {key: event.pop(key) for key in ("ts", "level", "msg") if key in event}
    return {**first, **event}
