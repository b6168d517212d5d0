"""Reading a request: what kind it is about, where that is served, and the objects in it.

Whatever does not make sense ends the request with a `Refusal`; nothing here looks at values.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from berth.workload.admission import Forbidden, PriorityClasses, admit
from berth.workload.answer import Refusal
from berth.workload.codec import DecodeError, Reading, decode, encode
from berth.workload.defaulting import default
from berth.workload.gates import Gate
from berth.workload.models import AnyObject, CompositePodGroup, PodGroup, PriorityClass, Workload
from berth.workload.resources import RESOURCES, Resource
from berth.workload.rules import Rules
from berth.workload.versions import VERSIONS

FieldValidation: TypeAlias = Literal["Ignore", "Warn", "Strict"]


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked, apart from the object itself."""

    version: str
    status: bool
    update: bool
    gates: frozenset[Gate]
    classes: PriorityClasses
    rules: Rules


def read_new(
    sent: object, request: Request, field_validation: FieldValidation, warnings: list[str]
) -> tuple[Resource, AnyObject]:
    """Find the kind and decode the object, with defaults. What was unknown in it goes to the warnings.

    Raises:
        Refusal: 400 for what cannot be decoded or has unknown fields under Strict, 404 for what is not served.
    """
    kind, body = _kind_of(_as_json(sent, request.version))
    resource = _served(kind, request)
    expected = resource.api_version_in(request.version)
    if body.pop("apiVersion", None) not in (None, expected):
        raise Refusal(400, f"the API version in the data does not match the expected API version ({expected})")
    reading = Reading()
    new = _decoded(resource, body, reading, "cannot decode")
    problems = [f'unknown field "{name}"' for name in reading.unknown]
    if problems and field_validation == "Strict":
        raise Refusal(400, f"strict decoding error: {', '.join(problems)}")
    if field_validation == "Warn":
        warnings.extend(problems)
    return resource, default(new, request.gates)


def read_stored(stored: object, resource: Resource, request: Request) -> AnyObject | None:
    """Read the stored object as a server does: with defaults, without a word about unknown fields.

    Every stored group has a priority. One that has none is a manifest, and is completed as its creation would have.

    Raises:
        Refusal: 400, it is no object of the kind.
    """
    if stored is None:
        return None
    kind, body = _kind_of(_as_json(stored, request.version))
    if kind != resource.kind:
        raise Refusal(400, f"the stored object is a {kind[:63]}, not a {resource.kind}")
    body.pop("apiVersion", None)
    old = default(_decoded(resource, body, Reading(), "cannot decode the stored object"), request.gates)
    if isinstance(old, PodGroup | CompositePodGroup) and old.spec.priority is None:
        with suppress(Forbidden):
            old = admit(old, request.classes, request.gates)
    return old


def read_class(item: PriorityClass | Mapping[str, Any]) -> PriorityClass:
    """A PriorityClass that may come as JSON.

    Raises:
        DecodeError: it is none.
    """
    if isinstance(item, PriorityClass):
        return item
    body = {name: value for name, value in item.items() if name not in ("apiVersion", "kind")}
    return decode(PriorityClass, body, Reading())


def _as_json(sent: object, version: str) -> object:
    if not isinstance(sent, Workload | PodGroup | CompositePodGroup):
        return sent
    if type(sent).__name__ not in VERSIONS.get(version, {}):
        raise Refusal(404, f"the server could not find the requested resource: {type(sent).__name__} in {version}")
    return {"kind": type(sent).__name__, **encode(sent)}


def _kind_of(sent: object) -> tuple[str, dict[Any, Any]]:
    if not isinstance(sent, dict):
        raise Refusal(400, "the object provided is unrecognized: it must be a JSON object")
    kind = sent.get("kind")
    if not isinstance(kind, str) or not kind:
        raise Refusal(400, "the object provided is unrecognized: it has no kind")
    return kind, {name: value for name, value in sent.items() if name != "kind"}


def _served(kind: str, request: Request) -> Resource:
    resource = RESOURCES.get(kind)
    if resource is None or not resource.served(request.version, request.gates):
        raise Refusal(404, f"the server could not find the requested resource: {kind[:63]} in {request.version}")
    if request.status and not resource.has_status:
        raise Refusal(404, f"the server could not find the requested resource: the status of a {kind}")
    if request.status and not request.update:
        raise Refusal(405, "a status cannot be created")
    return resource


def _decoded(resource: Resource, body: dict[Any, Any], reading: Reading, what: str) -> AnyObject:
    try:
        return decode(resource.model, body, reading)
    except DecodeError as error:
        raise Refusal(400, f"{what}: {error}") from None
