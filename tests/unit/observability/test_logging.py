"""Log lines: the same keys for machines and people."""

import io
import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import structlog

from berth_server.observability.logging import LogFormat, configure_logging


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Give the process its logging back."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


def _lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_json_with_the_keys_in_order() -> None:
    """Key order is ts, level, msg, then what was said, on one line."""
    stream = io.StringIO()
    configure_logging("json", stream=stream)
    structlog.get_logger().warning("watch restarted", reason="gone", generation=7)
    (line,) = _lines(stream)
    assert list(line)[:3] == ["ts", "level", "msg"]
    assert datetime.fromisoformat(line.pop("ts")).tzinfo == UTC
    assert line == {"level": "warning", "msg": "watch restarted", "reason": "gone", "generation": 7}


def test_an_exception_is_one_line() -> None:
    """A trace back is a value, so that one event is one line."""
    stream = io.StringIO()
    configure_logging("json", stream=stream)
    structlog.get_logger().error("cycle failed", exc_info=ValueError("swordfish"))
    (line,) = _lines(stream)
    assert "ValueError: swordfish" in line["exception"]


def test_lines_of_libraries_have_the_same_form() -> None:
    """What grpc or asyncio say goes the same way, from warnings up."""
    stream = io.StringIO()
    configure_logging("json", stream=stream)
    logging.getLogger("grpc").info("chatter")
    logging.getLogger("grpc").warning("lost %s", "connection")
    (line,) = _lines(stream)
    assert (line["level"], line["msg"]) == ("warning", "lost connection")


@pytest.mark.parametrize(
    ("level", "want"),
    [pytest.param("debug", ["a", "b", "c"], id="debug"), pytest.param("warning", ["c"], id="warning")],
)
def test_drops_what_is_below_the_level(level: str, want: list[str]) -> None:
    """The level is the least that is written."""
    stream = io.StringIO()
    configure_logging("json", stream=stream, level=level)
    log = structlog.get_logger()
    log.debug("a")
    log.info("b")
    log.warning("c")
    assert [line["msg"] for line in _lines(stream)] == want


@pytest.mark.parametrize(
    ("log_format", "stream", "want_json"),
    [
        pytest.param(None, io.StringIO(), True, id="a-pipe"),
        pytest.param(None, _Terminal(), False, id="a-terminal"),
        pytest.param("text", io.StringIO(), False, id="text-by-wish"),
        pytest.param("json", _Terminal(), True, id="json-by-wish"),
    ],
)
def test_text_for_people_and_json_for_machines(
    log_format: LogFormat | None,
    stream: io.StringIO,
    want_json: bool,  # noqa: FBT001
) -> None:
    """A terminal gets text, everything else JSON, and a wish wins."""
    configure_logging(log_format, stream=stream)
    structlog.get_logger().info("hello", who="you")
    written = stream.getvalue()
    assert written.startswith("{") is want_json
    assert "hello" in written
    assert written.count("\n") == 1


@pytest.mark.parametrize(
    ("stream", "no_color", "want"),
    [
        pytest.param(_Terminal(), "", True, id="terminal"),
        pytest.param(_Terminal(), "1", False, id="no-color"),
        pytest.param(io.StringIO(), "", False, id="pipe"),
    ],
)
def test_colours_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch,
    stream: io.StringIO,
    no_color: str,
    want: bool,  # noqa: FBT001
) -> None:
    """Escape codes never reach a file, and NO_COLOR is honoured."""
    monkeypatch.setenv("NO_COLOR", no_color)
    configure_logging("text", stream=stream)
    structlog.get_logger().info("hello", who="you")
    assert ("\x1b[" in stream.getvalue()) is want


def test_loggers_made_before_follow_the_configuration() -> None:
    """Modules make their loggers on import, before anything is configured."""
    log = structlog.get_logger()
    stream = io.StringIO()
    configure_logging("json", stream=stream)
    log.info("hello")
    second = io.StringIO()
    configure_logging("json", stream=second)
    log.info("again")
    assert [line["msg"] for line in _lines(stream)] == ["hello"]
    assert [line["msg"] for line in _lines(second)] == ["again"]


@pytest.mark.parametrize("log_format", ["json", "text"])
def test_a_line_names_the_trace_that_goes_on(log_format: LogFormat) -> None:
    """Lines of libraries as well; outside of a trace the key is not there."""
    stream, trace = io.StringIO(), ""
    configure_logging(log_format, stream=stream, trace_id=lambda: trace)
    structlog.get_logger().info("before")
    trace = "0af7651916cd43dd8448eb211c80319c"
    structlog.get_logger().info("inside", run_uid="u")
    logging.getLogger("grpc").warning("lost connection")
    assert ["trace_id" in line for line in stream.getvalue().splitlines()] == [False, True, True]
    assert stream.getvalue().count(trace) == 2
    if log_format == "json":
        assert list(_lines(stream)[1]) == ["ts", "level", "msg", "run_uid", "trace_id"]
