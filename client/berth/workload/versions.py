"""Reading any version of a group object into the one shape of the models, and writing it in the version asked for.

v1alpha3 and v1beta1 say the same, field for field. v1alpha2 (Kubernetes v1.36) is translated; no API server of today
serves it, so it is covered by fixtures only.
"""

from typing import Any, Literal, TypeAlias, TypeVar

from berth.workload.codec import DecodeError, Reading, decode, encode
from berth.workload.models import CompositePodGroup, Model, PodGroup, Workload
from berth.workload.v1alpha2 import (
    NotExpressibleError,
    PodGroupV1alpha2,
    WorkloadV1alpha2,
    pod_group_from_v1alpha2,
    pod_group_to_v1alpha2,
    workload_from_v1alpha2,
    workload_to_v1alpha2,
)

GROUP = "scheduling.k8s.io"
GroupObject: TypeAlias = Workload | PodGroup | CompositePodGroup
Unknown: TypeAlias = Literal["keep", "drop", "refuse"]

# The kinds of a version; the first version of a kind is the one it is stored in.
VERSIONS: dict[str, dict[str, type[Model]]] = {
    "v1beta1": {"Workload": Workload, "PodGroup": PodGroup},
    "v1alpha3": {"Workload": Workload, "PodGroup": PodGroup, "CompositePodGroup": CompositePodGroup},
    "v1alpha2": {"Workload": WorkloadV1alpha2, "PodGroup": PodGroupV1alpha2},
}

ModelT = TypeVar("ModelT", bound=Model)


class UnknownFieldsError(DecodeError):
    """The object has fields that its version does not have. `fields` names them all."""

    def __init__(self, fields: tuple[str, ...]) -> None:
        self.fields = fields
        super().__init__(
            fields[0], "unknown field" if len(fields) == 1 else f"unknown field, as {len(fields) - 1} more"
        )


def normalise(data: object, *, unknown: Unknown = "keep") -> GroupObject:
    """Read a Workload, PodGroup or CompositePodGroup of any version (v1alpha2, v1alpha3, v1beta1).

    Args:
        data: the object as parsed JSON, with its `apiVersion` and `kind`.
        unknown: what to do with fields that the version does not have: "keep" them in `extra` (they are written back),
            "drop" them, or "refuse" the object.

    Returns:
        The object in one shape for all versions. It is not validated and nothing is defaulted in it.

    Raises:
        DecodeError: `apiVersion` and `kind` name nothing known, or a value has the wrong type.
        UnknownFieldsError: with unknown="refuse", all unknown fields.
    """
    if not isinstance(data, dict):
        raise DecodeError("", "expected an object")
    group, _, version = str(data.get("apiVersion")).rpartition("/")
    model = VERSIONS.get(version, {}).get(str(data.get("kind")))
    if group != GROUP or model is None:
        raise DecodeError("apiVersion", f"no group object: {data.get('apiVersion')} {data.get('kind')}")
    body = _read(model, {key: value for key, value in data.items() if key not in ("apiVersion", "kind")}, unknown)
    match body:
        case WorkloadV1alpha2():
            return workload_from_v1alpha2(body)
        case PodGroupV1alpha2():
            return pod_group_from_v1alpha2(body)
        case Workload() | PodGroup() | CompositePodGroup():
            return body
    raise AssertionError(model)


def write(obj: GroupObject, version: str | None = None) -> dict[str, Any]:
    """Write a group object as JSON, with `apiVersion` and `kind`. `normalise(write(obj, version))` equals `obj`.

    Args:
        obj: any object, valid or not.
        version: "v1beta1", "v1alpha3" or "v1alpha2"; by default the one that API servers store the kind in (v1beta1,
            for CompositePodGroup v1alpha3).

    Raises:
        NotExpressibleError: the version does not have the kind, or v1alpha2 cannot say a field.
        DecodeError: an unknown field that was kept is a known one in v1alpha2.
        ValueError: a time without time zone, or no such version.
    """
    kind = type(obj).__name__
    version = version or stored_version(kind)
    if version not in VERSIONS:
        raise ValueError(f"no version {version!r}; there are {', '.join(VERSIONS)}")
    if kind not in VERSIONS[version]:
        raise NotExpressibleError(version, kind)
    body: Model = obj
    if version == "v1alpha2" and not isinstance(obj, CompositePodGroup):
        body = workload_to_v1alpha2(obj) if isinstance(obj, Workload) else pod_group_to_v1alpha2(obj)
    return {"apiVersion": f"{GROUP}/{version}", "kind": kind, **encode(body)}


def stored_version(kind: str) -> str:
    """The version in which API servers of v1.37 store a kind: the one to write when nothing speaks for another."""
    return next(version for version, kinds in VERSIONS.items() if kind in kinds)


def read_part(model: type[ModelT], data: object, *, unknown: Unknown = "keep") -> ModelT:
    """Read a piece of an object, such as a building block embedded in another API's spec.

    Raises:
        DecodeError: a value has the wrong type.
        UnknownFieldsError: with unknown="refuse", all unknown fields.
    """
    return _read(model, data, unknown)


def write_part(part: Model) -> dict[str, Any]:
    """Write a piece of an object as JSON; reading that gives an equal piece."""
    return encode(part)


def _read(model: type[ModelT], data: object, unknown: Unknown) -> ModelT:
    reading = Reading(keep=unknown == "keep")
    out = decode(model, data, reading)
    if reading.unknown and unknown == "refuse":
        raise UnknownFieldsError(tuple(reading.unknown))
    return out
