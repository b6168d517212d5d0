"""`review`: the whole answer of an API server to a create or an update, without one.

The steps are those of Kubernetes v1.37, in its order: decode (400), default, admission (403), drop the fields of closed
gates, on update bring back the other half from the stored object, validate (422, all errors at once), store (409).
What only a running server knows is not here: other objects, quotas, webhooks, who may do what.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, TypeAlias

from berth.workload.admission import Forbidden, PriorityClasses, admit, admit_class, admit_update
from berth.workload.answer import Answer, Refusal, invalid_object
from berth.workload.codec import encode
from berth.workload.errors import invalid
from berth.workload.gates import ALL, open_gates
from berth.workload.gating import drop_hidden
from berth.workload.models import AnyObject, PriorityClass, Workload
from berth.workload.request import FieldValidation, Request, read_class, read_new, read_stored
from berth.workload.resources import (
    Resource,
    judge,
    with_stored_metadata,
    with_stored_rest,
    with_stored_status,
    without_status,
    without_system_fields,
)
from berth.workload.rules import Rules, rules_of
from berth.workload.validation.case import Case
from berth.workload.validation.documented import unknown_classes

Operation: TypeAlias = Literal["create", "update", "status"]


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
        old: the stored object, or the manifest that it was created from. An update needs one, else the answer is 404.
            On create it is the object whose name may be taken: 409 if it is. If it has a `resourceVersion`, an update
            must carry the same.
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
    request = Request(
        version=version,
        status=operation == "status" or subresource == "status",
        update=operation != "create",
        gates=open_gates(gates),
        classes=PriorityClasses(read_class(item) for item in classes),
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
    sent: object, stored: object, request: Request, field_validation: FieldValidation, warnings: list[str]
) -> Answer:
    resource, new = read_new(sent, request, field_validation, warnings)
    old = read_stored(stored, resource, request)
    if isinstance(new, Workload) and request.rules.warn_unknown_class:
        warnings.extend(unknown_classes(new.spec, request.classes))
    new = _update(new, old, resource, request) if request.update else _create(new, old, resource.kind, request)
    head = {"apiVersion": resource.api_version_in(request.version), "kind": resource.kind}
    return Answer(
        code=200 if request.update else 201, warnings=tuple(warnings), object={**head, **encode(new, served=True)}
    )


def _create(new: AnyObject, old: AnyObject | None, kind: str, request: Request) -> AnyObject:
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


def _update(new: AnyObject, old: AnyObject | None, resource: Resource, request: Request) -> AnyObject:
    if old is None:
        raise Refusal(404, f'{resource.kind} "{new.metadata.name[:253]}" not found')
    if new.metadata.name != old.metadata.name:
        raise Refusal(400, "the name of the object does not match the name of the stored object")
    if new.metadata.namespace not in ("", old.metadata.namespace or new.metadata.namespace):
        raise Refusal(400, "the namespace of the object does not match the namespace of the stored object")
    if new.metadata.uid not in ("", old.metadata.uid or new.metadata.uid):
        raise Refusal(409, "the object has another uid than the stored object")
    _check_resource_version(new, old, resource)
    if request.status:
        new = with_stored_rest(new, old, request.gates)
    else:
        new = drop_hidden(with_stored_status(admit_update(new, old), old), old, request.gates)
        new = with_stored_metadata(new, old)
    _validate(new, old, resource.kind, request)
    return new


def _check_resource_version(new: AnyObject, old: AnyObject, resource: Resource) -> None:
    """An update says which version it changes. There are no unconditional updates of groups; this ends the request."""
    sent, stored = new.metadata.resource_version, old.metadata.resource_version
    if not stored or (resource.unconditional and not sent):
        return
    if sent in ("", "0"):
        missing = invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid_object(resource.kind, new.metadata.name, (missing,))
    if sent != stored:
        raise Refusal(409, "the object has been modified; please apply your changes to the latest version")


def _validate(new: AnyObject, old: AnyObject | None, kind: str, request: Request) -> None:
    case = Case(update=old is not None, gates=request.gates, rules=request.rules)
    causes = tuple(judge(new, old, case, status=request.status))
    if causes:
        raise invalid_object(kind, new.metadata.name, causes)
    if isinstance(new, PriorityClass):
        try:
            admit_class(new, request.classes)
        except Forbidden as refused:
            raise Refusal(403, f"{kind} is forbidden: {refused}") from None
