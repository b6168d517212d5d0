"""JSON that is nested deeper than a decoder goes: an API server takes 10,000 levels, a decoder gives up before 1,000.

One such object must not keep a whole kind from being read. Its bytes are cut at a level, without recursion, so that
what lies above can be read. What is cut is lost: never write it back.
"""

import re
from collections.abc import Iterable
from typing import Final

Span = tuple[int, int]
"""Start and end of an object or array in its bytes, brackets included."""

# A bracket in a string is none; an unfinished string reaches to the end.
_TOKENS: Final = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\Z)|[\[\]{}]', re.DOTALL)


def containers(data: bytes, level: int) -> list[Span]:
    """Return the objects and arrays of that level, in order; the outermost is of level 1. Linear in the input.

    `data` need not be JSON: then what is returned has no meaning, but decoding tells.
    """
    spans: list[Span] = []
    depth = start = 0
    for token in _TOKENS.finditer(data):
        match token[0]:
            case b"{" | b"[":
                depth += 1
                if depth == level:
                    start = token.start()
            case b"}" | b"]":
                if depth == level:
                    spans.append((start, token.end()))
                depth -= 1
    return spans


def without(data: bytes, spans: Iterable[Span]) -> bytes:
    """Return the input with null in place of each span."""
    parts: list[bytes] = []
    end = 0
    for start, stop in spans:
        parts += (data[end:start], b"null")
        end = stop
    return b"".join((*parts, data[end:]))
