"""Documents to objects: lists taken apart, every object named, checked and put into the form that a store keeps.

What is wrong is told at once, by file, object and field. This module must not compare objects with each other, and must
not judge a spec: an odd one is the business of whoever schedules it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from berth_server.kube.documents import Document, ManifestError
from berth_server.kube.exact import InexactError, plain
from berth_server.kube.kinds import kind_of, store_name
from berth_server.objects.decode import DecodeError, decode
from berth_server.objects.resources import Resource, type_of_kind
from berth_server.objects.timestamps import parse_time

JSON = dict[str, Any]
_DEFAULT_NAMESPACE: Final = "default"


@dataclass(frozen=True, slots=True)
class Found:
    """One object: its place, its name in the store, its JSON with the namespace filled in.

    `resource` is the object as decoded, None for a kind that Berth does not decode.
    """

    place: str
    kind: str
    namespace: str
    name: str
    raw: JSON
    resource: Resource | None

    @property
    def title(self) -> str:
        """The object as people write it."""
        return _title(self.kind, self.namespace, self.name)

    def fault(self, problem: str) -> ManifestError:
        """Return the error that says what is wrong with this object."""
        return ManifestError(f"{self.place}: {self.title}: {problem}")


def unpack(document: Document) -> Iterator[Found]:
    """Yield the objects of a document: itself, or the items of a List, which is what kubectl get prints.

    Raises ManifestError.
    """
    try:
        yield from _unpack(document.where, document.value)
    except RecursionError:
        raise ManifestError(f"{document.where}: is nested too deeply, or contains itself") from None


def _unpack(where: str, value: Any) -> Iterator[Found]:
    if not isinstance(value, dict):
        raise ManifestError(f"{where}: {_type(value)} is no Kubernetes object")
    kind = _text(value, "kind", where)
    if not kind:
        raise ManifestError(f"{where}: kind is missing")
    if kind != "List" and not (kind.endswith("List") and "items" in value):
        yield _found(where, kind, value)
        return
    items = value.get("items")
    if items is None:
        return
    if not isinstance(items, list):
        raise ManifestError(f"{where}: {kind}: items must be a list, not {_type(items)}")
    # The items of a typed list, as the API itself gives one, do not repeat what the list says.
    implied = {} if kind == "List" else {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List")}
    for index, item in enumerate(items):
        yield from _unpack(f"{where}, items[{index}]", {**implied, **item} if isinstance(item, dict) else item)


def _found(where: str, kind: str, value: JSON) -> Found:
    metadata = value.get("metadata")
    name = _text(metadata, "name", f"{where}: {kind}: metadata") if isinstance(metadata, dict) else ""
    if not name or not isinstance(metadata, dict):
        raise ManifestError(f"{where}: {kind}: metadata.name is missing")
    _text(value, "apiVersion", f"{where}: {kind} {name}")
    kind = store_name(value)
    namespace = _namespace(where, kind, name, metadata)
    title = _title(kind, namespace, name)
    _text(metadata, "uid", f"{where}: {title}: metadata")
    created = _text(metadata, "creationTimestamp", f"{where}: {title}: metadata")
    if created and parse_time(created) is None:
        raise ManifestError(f"{where}: {title}: metadata.creationTimestamp {created!r} is not an RFC 3339 time")
    try:
        raw = plain({**value, "metadata": {**metadata, "namespace": namespace} if namespace else metadata})
    except InexactError as error:
        raise ManifestError(f"{where}: {title}: {error}") from None
    return Found(where, kind, namespace, name, raw, _decoded(where, kind, raw))


def _namespace(where: str, kind: str, name: str, metadata: JSON) -> str:
    namespace = _text(metadata, "namespace", f"{where}: {kind} {name}: metadata")
    if kind_of(kind).namespaced:
        return namespace or _DEFAULT_NAMESPACE
    if namespace:
        raise ManifestError(
            f"{where}: {kind} {name}: metadata.namespace must be empty, a {kind} belongs to the cluster"
        )
    return ""


def _decoded(where: str, kind: str, raw: JSON) -> Resource | None:
    if kind not in type_of_kind:
        return None
    try:
        return decode(kind, msgspec.json.encode(raw))
    except DecodeError as error:
        raise ManifestError(f"{where}: {error}") from None


def _text(mapping: JSON, field: str, path: str) -> str:
    """The string at a field, empty if it is absent or null."""
    value = mapping.get(field)
    if value is None or isinstance(value, str):
        return value or ""
    separator = "." if path.endswith("metadata") else ": "
    raise ManifestError(f"{path}{separator}{field} must be a string, not {_type(value)}")


def _title(kind: str, namespace: str, name: str) -> str:
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def _type(value: Any) -> str:
    match value:
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return "a string"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
    return f"a {type(value).__name__}"
