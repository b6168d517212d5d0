"""Bytes of a watch to events."""

import json
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from berth_server.kube import watchlines
from berth_server.kube.verdicts import UnavailableError
from berth_server.kube.watchlines import LineSplitter, event_of
from berth_server.objects.resources import Identity, Run
from berth_server.placement.ports import EventType, GoneError
from tests.builders import run


def line(kind: str, raw: Any) -> bytes:
    """Return a line of a watch."""
    return json.dumps({"type": kind, "object": raw}).encode()


def status(**fields: Any) -> dict[str, Any]:
    """Return the object of an ERROR event."""
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", **fields}


@pytest.mark.parametrize(
    ("chunks", "want"),
    [
        pytest.param([b"a\nb\n"], [b"a", b"b"], id="whole lines"),
        pytest.param([b"a\nb", b"c\nd"], [b"a", b"bc"], id="cut in a line"),
        pytest.param([b"a", b"b", b"c", b"\n"], [b"abc"], id="byte by byte"),
        pytest.param([b"a", b"\nb\n"], [b"a", b"b"], id="cut at the end of a line"),
        pytest.param([b"\n\na\n\n"], [b"a"], id="empty lines"),
        pytest.param([b"", b"a\n"], [b"a"], id="empty chunk"),
        pytest.param([b"a"], [], id="unfinished"),
    ],
)
def test_lines_are_cut_anywhere(chunks: Sequence[bytes], want: Sequence[bytes]) -> None:
    """Where a chunk ends tells nothing."""
    splitter = LineSplitter()
    assert [each for chunk in chunks for each in splitter.feed(chunk)] == want


def test_a_line_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an error before it fills the memory; the lines before it are still told."""
    monkeypatch.setattr(watchlines, "MAX_LINE_BYTES", 4)
    splitter = LineSplitter()
    assert list(splitter.feed(b"123")) == []
    lines = splitter.feed(b"4\n123456")
    assert next(lines) == b"1234"
    with pytest.raises(UnavailableError):
        next(lines)


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED"])
def test_an_object(kind: str) -> None:
    """It comes decoded, with its version."""
    event = event_of("Run", line(kind, run("a", version=77)))
    assert (event.type, event.kind, event.version, event.undecodable) == (EventType(kind), "Run", 77, None)
    assert isinstance(event.resource, Run)
    assert event.resource.metadata.name == "a"


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param({"kind": "Run", "metadata": {"resourceVersion": "9", "creationTimestamp": None}}, id="metadata"),
        pytest.param({"metadata": {"resourceVersion": "9"}, "spec": {}, "status": None}, id="empty parts"),
        pytest.param(
            {"metadata": {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}}, id="end"
        ),
    ],
)
def test_a_bookmark(raw: dict[str, Any]) -> None:
    """It has a version and is no object."""
    event = event_of("Run", line("BOOKMARK", raw))
    assert (event.type, event.version, event.resource, event.undecodable) == (EventType.BOOKMARK, 9, None, None)


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED"])
@pytest.mark.parametrize(
    ("metadata", "want_version", "want", "want_named"),
    [
        pytest.param(
            {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "5", "labels": [7]},
            5,
            Identity("a", "n", "u", "5"),
            "Run n/a: ",
            id="whole identity",
        ),
        pytest.param({"name": "a", "resourceVersion": "5"}, 5, None, "Run a: ", id="no uid"),
        pytest.param({"name": "a", "namespace": "n", "uid": "u"}, 0, None, "Run n/a: ", id="no version"),
        pytest.param(7, 0, None, "Run: ", id="odd metadata"),
    ],
)
def test_an_object_that_cannot_be_decoded(
    kind: str, metadata: Any, want_version: int, want: Identity | None, want_named: str
) -> None:
    """It is an event that says which object it is about, and moves the version on, so that it is told once."""
    event = event_of("Run", line(kind, {"metadata": metadata, "status": 7}))
    assert (event.type, event.version, event.resource) == (EventType(kind), want_version, None)
    assert event.undecodable is not None
    assert event.undecodable.metadata == want
    assert event.undecodable.fault.startswith(want_named)


def test_gone() -> None:
    """An ERROR event of code 410 in a stream that began with 200."""
    with pytest.raises(GoneError, match="too old resource version"):
        event_of("Run", line("ERROR", status(code=410, reason="Expired", message="too old resource version: 1 (9)")))


@pytest.mark.parametrize(
    ("fields", "want_retry_after"),
    [
        *[pytest.param({"code": code}, 0.0, id=str(code)) for code in (400, 401, 403, 404, 409, 422, 500, 503, 504)],
        pytest.param({"code": 429, "details": {"retryAfterSeconds": 3}}, 3.0, id="429"),
        pytest.param({}, 0.0, id="no code"),
        pytest.param({"code": "x"}, 0.0, id="odd code"),
    ],
)
def test_any_other_error(fields: dict[str, Any], want_retry_after: float) -> None:
    """It ends this watch, and says nothing about the version or the kind."""
    with pytest.raises(UnavailableError) as caught:
        event_of("Run", line("ERROR", status(**fields)))
    assert caught.value.retry_after == want_retry_after


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x",
        b"{}",
        b"[]",
        b'{"type": "ADDED"}',
        b'{"type": "RENAMED", "object": {}}',
        b'{"type":"ADDED","object":{"m',
    ],
)
def test_what_is_no_line_of_a_watch(data: bytes) -> None:
    """A line cut short, or of something else, ends the watch; nothing of it is believed."""
    with pytest.raises(UnavailableError):
        event_of("Run", data)


def test_decoded_objects_keep_no_line_alive() -> None:
    """Conditions are raw, and a view of the line would pin it."""
    raw = run("a", status={"conditions": [{"type": "A", "status": "True"}]})
    event = event_of("Run", line("ADDED", {**raw, "padding": "x" * 100_000}))
    assert isinstance(event.resource, Run)
    assert event.resource.status is not None
    assert sys.getsizeof(memoryview(event.resource.status.conditions).obj) < 1000


@pytest.mark.parametrize("depth", [960, 985, 990, 995, 1000, 1005, 3000, 9990])
@pytest.mark.parametrize("kind", ["ADDED", "DELETED"])
def test_an_object_as_deep_as_an_api_server_takes(kind: str, depth: int) -> None:
    """Whether its depth can be read or not, the event says which object it is, and the watch goes on."""
    raw = run("a", version=77)
    raw["spec"]["extra"] = "HERE"
    deep = line(kind, raw).replace(b'"HERE"', b'{"x":' * depth + b"1" + b"}" * depth)
    event = event_of("Run", deep)
    assert (event.type.value, event.version) == (kind, 77)
    found = event.resource or event.undecodable
    assert found is not None
    assert found.metadata is not None
    assert (found.metadata.namespace, found.metadata.name) == ("ns", "a")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b'{"type":"ADDED","object":' + b"[" * 5000, id="cut off"),
        pytest.param(
            b'{"type":"ADDED","object":{}, "more":' + b"[" * 5000 + b"]" * 5000 + b"}", id="beside the object"
        ),
        pytest.param(b"[" * 5000 + b"]" * 5000, id="no line"),
    ],
)
def test_depth_that_makes_no_sense(data: bytes) -> None:
    """It ends the watch as any other nonsense does."""
    with pytest.raises(UnavailableError):
        event_of("Run", data)
