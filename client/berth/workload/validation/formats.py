"""The formats of names: short names, long names, label keys and values, path segments (apimachinery's content checks).

Each function yields one sentence for each breach, as often as the API server reports it. Lengths are in bytes. All are
linear in the length of the text.
"""

import re
from collections.abc import Iterator

_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SHORT_NAME = re.compile(_LABEL)
_LONG_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_LABEL_NAME = re.compile("(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")

MAX_LABEL = 63
MAX_LONG_NAME = 253


def byte_length(text: str) -> int:
    """The length that the API counts, in UTF-8 bytes. Half surrogates, which JSON can smuggle in, count as three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def short_name(text: str) -> Iterator[str]:
    """`k8s-short-name`, a DNS label: lower case, digits and dashes, 1 to 63 bytes, no dots."""
    if byte_length(text) > MAX_LABEL:
        yield f"must be no more than {MAX_LABEL} bytes"
    if not _SHORT_NAME.fullmatch(text):
        if _LONG_NAME.fullmatch(text):
            yield "must not contain dots"
        else:
            yield "must consist of lower case letters, digits and '-', and start and end with a letter or digit"


def long_name(text: str) -> Iterator[str]:
    """`k8s-long-name`, a DNS subdomain: 1 to 253 bytes in all; its parts have no limit of their own."""
    if byte_length(text) > MAX_LONG_NAME:
        yield f"must be no more than {MAX_LONG_NAME} bytes"
    if not _LONG_NAME.fullmatch(text):
        yield "must be lower case letters, digits, '-' and '.', with a letter or digit at both ends of each part"


def label_key(text: str) -> Iterator[str]:
    """`k8s-label-key`: a name of 1 to 63 bytes, optionally after a long name and one slash."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        yield "must be a name, or a DNS subdomain, one '/' and a name"
        return
    if slash and not prefix:
        yield "the part before the '/' must not be empty"
    elif slash:
        yield from (f"the part before the '/' {problem}" for problem in long_name(prefix))
    if not name:
        yield "the name must not be empty"
    elif byte_length(name) > MAX_LABEL:
        yield f"the name must be no more than {MAX_LABEL} bytes"
    if not _LABEL_NAME.fullmatch(name):
        yield "the name must consist of letters, digits, '-', '_' and '.', and start and end with a letter or digit"


def label_value(text: str) -> Iterator[str]:
    """`k8s-label-value`: empty, or like the name of a label key."""
    if byte_length(text) > MAX_LABEL:
        yield f"must be no more than {MAX_LABEL} bytes"
    if text and not _LABEL_NAME.fullmatch(text):
        yield "must be empty or consist of letters, digits, '-', '_' and '.', and start and end with a letter or digit"


def path_segment(text: str) -> Iterator[str]:
    """`k8s-path-segment-name`: what can stand between two slashes of a URL. Any length."""
    if text in (".", ".."):
        yield f"may not be '{text}'"
        return
    for illegal in ("/", "%"):
        if illegal in text:
            yield f"may not contain '{illegal}'"
