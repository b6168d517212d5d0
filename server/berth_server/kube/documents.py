"""Files to documents: decoded values, each with the name of its place, before anybody asks what they mean.

Every error names the file, and the line or the document. Nothing here knows an object's fields.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from berth_server.kube.parsing import TextError, parse

STDIN: Final = "-"
_SUFFIXES: Final = (".yaml", ".yml", ".json")


class ManifestError(Exception):
    """The input is not a cluster. The message is one sentence that names file, object and field, if there are any."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document. `where` names its file and place, to begin an error with."""

    where: str
    value: Any


def read_documents(source: str, stdin: BinaryIO) -> Iterator[Document]:
    """Yield the documents of a file, of all *.yaml *.yml *.json below a folder in order of path, or of stdin (`-`).

    Empty documents are left out, and so is what is hidden in a folder. Raises ManifestError.
    """
    if source == STDIN:
        yield from _documents("stdin", stdin.read())
        return
    for path in _files(source) if Path(source).is_dir() else [source]:
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise ManifestError(f"{path}: {error.strerror}") from None
        yield from _documents(path, data)


def _files(folder: str) -> list[str]:
    def refuse(error: OSError) -> None:
        raise ManifestError(f"{error.filename}: {error.strerror}")

    found: list[Path] = []
    for parent, folders, names in os.walk(folder, onerror=refuse):
        # A mounted ConfigMap has its files a second time, in hidden folders.
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(parent, name) for name in names if name.endswith(_SUFFIXES) and not name.startswith(".")]
    if not found:
        raise ManifestError(f"{folder}: no *.yaml, *.yml or *.json file in this folder")
    return [str(path) for path in sorted(found)]


def _documents(name: str, data: bytes) -> Iterator[Document]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ManifestError(f"{name}: byte {error.start} is not UTF-8") from None
    try:
        for number, value in enumerate(parse(text, json_only=name.endswith(".json")), start=1):
            if value is not None:
                yield Document(f"{name}: document {number}", value)
    except TextError as error:
        raise ManifestError(f"{name}: {error}") from None
