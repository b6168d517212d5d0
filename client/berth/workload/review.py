"""`review`: the whole answer of an API server to a create or an update, without one.

The steps are those of Kubernetes v1.37, in its order: decode (400), default, admission (403), drop the fields of closed
gates, on update bring back the other half from the stored object, validate (422, all errors at once), store (409).
What only a running server knows is not here: other objects, quotas, webhooks, who may do what.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from berth.workload.admission import Forbidden, PriorityClasses, admit, admit_class
from berth.workload.answer import Answer, Refusal, invalid_object
from berth.workload.codec import DecodeError, Reading, decode, encode
from berth.workload.defaulting import default
from berth.workload.errors import invalid
from berth.workload.gates import ALL, Gate, open_gates
from berth.workload.gating import drop_hidden
from berth.workload.models import AnyObject, CompositePodGroup, PodGroup, PriorityClass, Workload
from berth.workload.resources import (
    RESOURCES,
    Resource,
    judge,
    with_stored_metadata,
    with_stored_rest,
    with_stored_status,
    without_status,
    without_system_fields,
)
from berth.workload.rules import Rules, rules_of
from berth.workload.v1alpha2 import NotExpressibleError
from berth.workload.validation.case import Case
from berth.workload.validation.documented import unknown_classes
from berth.workload.versions import write

Operation: TypeAlias = Literal["create", "update", "status"]
FieldValidation: TypeAlias = Literal["Ignore", "Warn", "Strict"]


@dataclass(frozen=True, slots=True)
class _Request:
    """What was asked, apart from the object itself."""

    version: str
    status: bool
    update: bool
    gates: frozenset[Gate]
    classes: PriorityClasses
    rules: Rules


def review(
    operation: Operation,
    object: object,  # noqa: A002 - the name of the API's own field
    *,
    version: str,
    old: object = None,
    subresource: str | None = None,
    classes: Iterable[PriorityClass | Mapping[str, Any]] = (),
    gates: Collection[str] = ALL,
    field_validation: FieldValidation = "Warn",
    rules: str | Rules = "documented",
) -> Answer:
    """Answer a create or an update as a Kubernetes v1.37 API server would. Never raises because of an object.

    Args:
        operation: "create" or "update"; "status" is short for an update with `subresource="status"`.
        object: Workload, PodGroup, CompositePodGroup or PriorityClass, or a Pod, of which only the group and the
            priority are judged. Parsed JSON, or a model. It may leave out `apiVersion`, never `kind`.
        version: of scheduling.k8s.io, such as "v1beta1"; a Pod and a PriorityClass are always v1.
        old: the stored object. An update needs one, else the answer is 404. On create it is the object whose name may
            be taken: 409 if it is. If it has a `resourceVersion`, an update must carry the same.
        subresource: "status", or None for the object.
        classes: the PriorityClasses of the cluster, models or JSON. The two of the system are always there.
        gates: the open feature gates; all of those that concern groups by default. A cluster has none by default.
        field_validation: what to do with unknown fields: drop them, with a warning ("Warn") or without ("Ignore"), or
            refuse the object ("Strict").
        rules: "server" decides exactly as an API server, "documented" adds what the documentation states, see `Rules`.

    Returns:
        The answer, with the object as it would be stored.

    Raises:
        ValueError: an argument other than the objects makes no sense: no such operation, gate, rule set or field
            validation, a gate without its prerequisite, a class that cannot be read.
    """
    if operation not in ("create", "update", "status"):
        raise ValueError(f"no operation {operation!r}; there are create, update and status")
    if field_validation not in ("Ignore", "Warn", "Strict"):
        raise ValueError(f"no field validation {field_validation!r}; there are Ignore, Warn and Strict")
    request = _Request(
        version=version,
        status=operation == "status" or subresource == "status",
        update=operation != "create",
        gates=open_gates(gates),
        classes=PriorityClasses(_class(item) for item in classes),
        rules=rules_of(rules),
    )
    if subresource not in (None, "", "status"):
        return Refusal(404, f"the server could not find the requested resource: {subresource}").answer(())
    warnings: list[str] = []
    try:
        return _answer(object, old, request, field_validation, warnings)
    except Refusal as refusal:
        return refusal.answer(tuple(warnings))


def _answer(
    sent: object, stored: object, request: _Request, field_validation: FieldValidation, warnings: list[str]
) -> Answer:
    kind, body = _kind_of(_as_json(sent, request.version))
    resource = _resource(kind, body, request)
    reading = Reading()
    new = _decoded(resource, body, reading)
    _unknown_fields(reading.unknown, field_validation, warnings)
    old = _stored(resource, kind, stored, request)
    new = default(new, request.gates)
    if isinstance(new, Workload) and request.rules.warn_unknown_class:
        warnings.extend(unknown_classes(new.spec, request.classes))
    new = _update(new, old, resource, kind, request) if request.update else _create(new, old, kind, request)
    stored_as = {"apiVersion": resource.api_version_in(request.version), "kind": kind, **encode(new, served=True)}
    return Answer(code=200 if request.update else 201, warnings=tuple(warnings), object=stored_as)


def _create(new: AnyObject, old: AnyObject | None, kind: str, request: _Request) -> AnyObject:
    try:
        new = admit(new, request.classes, request.gates)
    except Forbidden as refused:
        raise Refusal(403, f"{kind} is forbidden: {refused}") from None
    new = drop_hidden(without_status(without_system_fields(new)), None, request.gates)
    _validate(new, None, kind, request)
    if new.metadata.resource_version not in ("", "0"):
        raise Refusal(500, "resourceVersion should not be set on objects to be created")
    if old is not None and new.metadata.name and new.metadata.name == old.metadata.name:
        raise Refusal(409, f'{kind} "{new.metadata.name}" already exists', reason="AlreadyExists")
    return new


def _update(new: AnyObject, old: AnyObject | None, resource: Resource, kind: str, request: _Request) -> AnyObject:
    if old is None:
        raise Refusal(404, f'{kind} "{new.metadata.name[:253]}" not found')
    if new.metadata.name != old.metadata.name:
        raise Refusal(400, "the name of the object does not match the name of the stored object")
    if new.metadata.namespace not in ("", old.metadata.namespace or new.metadata.namespace):
        raise Refusal(400, "the namespace of the object does not match the namespace of the stored object")
    if new.metadata.uid not in ("", old.metadata.uid or new.metadata.uid):
        raise Refusal(409, "the object has another uid than the stored object")
    _check_resource_version(new, old, resource, kind)
    if request.status:
        new = with_stored_rest(new, old, request.gates)
    else:
        new = drop_hidden(with_stored_status(new, old), old, request.gates)
        new = with_stored_metadata(new, old)
    _validate(new, old, kind, request)
    return new


def _check_resource_version(new: AnyObject, old: AnyObject, resource: Resource, kind: str) -> None:
    """An update says which version it changes. There are no unconditional updates of groups; this ends the request."""
    sent, stored = new.metadata.resource_version, old.metadata.resource_version
    if not stored or (resource.unconditional and not sent):
        return
    if sent in ("", "0"):
        missing = invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid_object(kind, new.metadata.name, (missing,))
    if sent != stored:
        raise Refusal(409, "the object has been modified; please apply your changes to the latest version")


def _validate(new: AnyObject, old: AnyObject | None, kind: str, request: _Request) -> None:
    case = Case(update=old is not None, gates=request.gates, rules=request.rules)
    causes = tuple(judge(new, old, case, status=request.status))
    if causes:
        raise invalid_object(kind, new.metadata.name, causes)
    if isinstance(new, PriorityClass):
        try:
            admit_class(new, request.classes)
        except Forbidden as refused:
            raise Refusal(403, f"{kind} is forbidden: {refused}") from None


def _as_json(sent: object, version: str) -> object:
    if isinstance(sent, Workload | PodGroup | CompositePodGroup):
        try:
            return write(sent, version)
        except NotExpressibleError as error:
            raise Refusal(404, str(error)) from None
    return sent


def _kind_of(sent: object) -> tuple[str, dict[Any, Any]]:
    if not isinstance(sent, dict):
        raise Refusal(400, "the object provided is unrecognized: it must be a JSON object")
    kind = sent.get("kind")
    if not isinstance(kind, str) or not kind:
        raise Refusal(400, "the object provided is unrecognized: it has no kind")
    return kind, {name: value for name, value in sent.items() if name != "kind"}


def _resource(kind: str, body: dict[Any, Any], request: _Request) -> Resource:
    """Find the kind, and take `apiVersion` out of the body."""
    resource = RESOURCES.get(kind)
    if resource is None or not resource.served(request.version, request.gates):
        raise Refusal(404, f"the server could not find the requested resource: {kind[:63]} in {request.version}")
    if request.status and not resource.has_status:
        raise Refusal(404, f"the server could not find the requested resource: the status of a {kind}")
    if request.status and not request.update:
        raise Refusal(405, "a status cannot be created")
    expected = resource.api_version_in(request.version)
    if body.pop("apiVersion", None) not in (None, expected):
        raise Refusal(400, f"the API version in the data does not match the expected API version ({expected})")
    return resource


def _decoded(resource: Resource, body: dict[Any, Any], reading: Reading, what: str = "cannot decode") -> AnyObject:
    try:
        return decode(resource.model, body, reading)
    except DecodeError as error:
        raise Refusal(400, f"{what}: {error}") from None


def _stored(resource: Resource, kind: str, stored: object, request: _Request) -> AnyObject | None:
    """Read the stored object as a server does: with defaults, without a word about unknown fields."""
    if stored is None:
        return None
    stored_kind, body = _kind_of(_as_json(stored, request.version))
    if stored_kind != kind:
        raise Refusal(400, f"the stored object is a {stored_kind[:63]}, not a {kind}")
    body.pop("apiVersion", None)
    return default(_decoded(resource, body, Reading(), "cannot decode the stored object"), request.gates)


def _unknown_fields(fields: list[str], field_validation: FieldValidation, warnings: list[str]) -> None:
    problems = [f'unknown field "{name}"' for name in fields]
    if problems and field_validation == "Strict":
        raise Refusal(400, f"strict decoding error: {', '.join(problems)}")
    if field_validation == "Warn":
        warnings.extend(problems)


def _class(item: PriorityClass | Mapping[str, Any]) -> PriorityClass:
    if isinstance(item, PriorityClass):
        return item
    body = {name: value for name, value in item.items() if name not in ("apiVersion", "kind")}
    return decode(PriorityClass, body, Reading())
