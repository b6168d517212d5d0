"""From the bytes of a watch stream to events. Pure: chunks in, events out, one error for each way of going wrong.

A stream is lines of JSON; a chunk may end anywhere. A line that is an object becomes a partial struct straight from its
bytes, which are not kept. What is no object (a bookmark, a Status) never reaches the store as one.
"""

from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from berth_server.kube.verdicts import UnavailableError, status_of
from berth_server.objects.decode import TOO_DEEP, DecodeError, decode, version_of
from berth_server.objects.nesting import containers, without
from berth_server.placement.ports import EventType, GoneError, WatchEvent

MAX_LINE_BYTES: Final = 32 * 2**20
"""Far above what etcd takes as one object (1.5 MiB); what is longer is no watch stream."""
_GONE: Final = 410
_OBJECT_LEVEL: Final = 2


class _Line(msgspec.Struct):
    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    object: msgspec.Raw


class _Versioned(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _Bare(msgspec.Struct):
    metadata: _Versioned


_lines: Final = msgspec.json.Decoder(_Line)
_bare: Final = msgspec.json.Decoder(_Bare)


class LineSplitter:
    """Cuts chunks into lines and keeps the unfinished end."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that are complete now, without their ends; empty ones are left out.

        Raises UnavailableError for a line that does not end.
        """
        lines = chunk.split(b"\n")
        if len(lines) > 1:
            lines[0] = b"".join((*self._parts, lines[0]))
            self._parts, self._size = [], 0
        rest = lines.pop()
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
        yield from (line for line in lines if line)
        if self._size > MAX_LINE_BYTES:
            raise UnavailableError(f"a line of the watch is longer than {MAX_LINE_BYTES} bytes")


def event_of(kind: str, line: bytes) -> WatchEvent:
    """Return the event that a line tells. One of an object that can't be decoded says of which.

    Raises GoneError for an ERROR event of code 410, UnavailableError for any other and for what is no watch line.
    """
    try:
        read = _line_of(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UnavailableError(f"not a line of a watch: {error}") from None
    if read.type == "ERROR":
        status = status_of(read.object)
        if status.code == _GONE:
            raise GoneError(status.message or "the version to watch from is too old")
        text = f"the watch ended with an error: {status.message or 'no message'} ({status.code or 'no code'})"
        raise UnavailableError(text, retry_after=status.retry_after)
    if read.type == "BOOKMARK":
        return WatchEvent(EventType.BOOKMARK, kind, bare_version(read.object))
    try:
        resource = decode(kind, read.object)
    except DecodeError as error:
        odd = error.undecodable
        version = bare_version(read.object) if odd.metadata is None else odd.metadata.version
        return WatchEvent(EventType(read.type), kind, version, undecodable=odd)
    return WatchEvent(EventType(read.type), kind, version_of(resource), resource)


def _line_of(line: bytes) -> _Line:
    try:
        return _lines.decode(line)
    except RecursionError:
        return _deep_line(line)


def _deep_line(line: bytes) -> _Line:
    spans = containers(line, _OBJECT_LEVEL)
    read = _lines.decode(without(line, spans))
    if len(spans) != 1:
        raise msgspec.DecodeError(TOO_DEEP)
    ((start, end),) = spans
    return _Line(read.type, msgspec.Raw(line[start:end]))


def bare_version(data: bytes | msgspec.Raw) -> int:
    """Return the version in the metadata of anything; 0 if it can't be read."""
    try:
        text = _bare.decode(data).metadata.resource_version
    except (msgspec.DecodeError, RecursionError):
        return 0
    return int(text) if text.isascii() and text.isdecimal() else 0
