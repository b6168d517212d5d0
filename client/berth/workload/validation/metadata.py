"""metadata: names, labels, annotations, owners, finalizers, and what an update may not touch (apimachinery's rules).

The namespace of the request is not known here: an object may leave it out, and the request fills it in.
"""

from collections.abc import Iterator, Mapping, Sequence

from berth.workload.errors import forbidden, frozen, invalid, required, too_long
from berth.workload.models import ObjectMeta, OwnerReference
from berth.workload.validation.case import Errors, formatted, required_name
from berth.workload.validation.formats import byte_length, label_key, label_value, long_name, short_name

MAX_ANNOTATIONS = 256 * 1024
# SimpleNameGenerator: at most 58 bytes of generateName, and five letters.
_GENERATED = 58
_SUFFIX = "xxxxx"
_EXCLUSIVE = ("orphan", "foregroundDeletion")
_STANDARD = ("kubernetes", *_EXCLUSIVE)


def new_metadata(new: ObjectMeta, path: str = "metadata") -> Errors:
    """The metadata of an object that is created. Names of all kinds are long names."""
    if new.generate_name:
        yield from formatted(new.generate_name, f"{path}.generateName", _long_name_prefix)
    yield from required_name(new.name or generated_name(new.generate_name), f"{path}.name", long_name)
    if new.namespace:
        yield from formatted(new.namespace, f"{path}.namespace", short_name)
    yield from _common(new, path)


def changed_metadata(new: ObjectMeta, old: ObjectMeta, path: str = "metadata") -> Errors:
    """The metadata of an object that is updated: what is judged on create too, and what may not change."""
    if old.deletion_timestamp is not None and set(new.finalizers) - set(old.finalizers):
        yield forbidden(f"{path}.finalizers", "no new finalizers can be added if the object is being deleted")
    if new.deletion_timestamp != old.deletion_timestamp:
        yield frozen(f"{path}.deletionTimestamp")
    if new.deletion_grace_period_seconds != old.deletion_grace_period_seconds:
        yield frozen(f"{path}.deletionGracePeriodSeconds")
    yield from _common(new, path)


def generated_name(prefix: str) -> str:
    """A name like those that the API server makes from `generateName`; empty if there is none."""
    if not prefix:
        return ""
    return prefix.encode("utf-8", "surrogatepass")[:_GENERATED].decode("utf-8", "replace") + _SUFFIX


def _common(new: ObjectMeta, path: str) -> Errors:
    if new.generation < 0:
        yield invalid(f"{path}.generation", new.generation, "must not be negative")
    yield from _labels(new.labels, f"{path}.labels")
    yield from _annotations(new.annotations, f"{path}.annotations")
    yield from _owners(new.owner_references, f"{path}.ownerReferences")
    yield from _finalizers(new.finalizers, f"{path}.finalizers")


def _long_name_prefix(text: str) -> Iterator[str]:
    """A prefix may end in a dash, since letters follow."""
    return long_name(text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text)


def _labels(labels: Mapping[str, str], path: str) -> Errors:
    """`labels`: keys are label keys, values label values; both are reported at the map."""
    for key, value in labels.items():
        yield from formatted(key, path, label_key)
        yield from formatted(value, path, label_value)


def _annotations(annotations: Mapping[str, str], path: str) -> Errors:
    """`annotations`: keys are label keys whatever their case; 256 KiB in all."""
    size = 0
    for key, value in annotations.items():
        yield from formatted(key.lower(), path, label_key)
        size += byte_length(key) + byte_length(value)
    if size > MAX_ANNOTATIONS:
        yield too_long(path, MAX_ANNOTATIONS)


def _owners(owners: Sequence[OwnerReference], path: str) -> Errors:
    """`ownerReferences`: all four names given, at most one of them the controller, an Event owns nothing."""
    controller = False
    for index, owner in enumerate(owners):
        where = f"{path}[{index}]"
        parts = owner.api_version.split("/")
        if not owner.api_version:
            yield required(f"{where}.apiVersion")
        elif len(parts) > 2 or not parts[-1]:
            yield invalid(f"{where}.apiVersion", owner.api_version, "must be <group>/<version> or <version>")
        for name, value in (("kind", owner.kind), ("name", owner.name), ("uid", owner.uid)):
            if not value:
                yield required(f"{where}.{name}")
        if owner.api_version == "v1" and owner.kind == "Event":
            yield invalid(where, "Event", "is disallowed from being an owner")
        if owner.controller:
            if controller:
                yield invalid(path, owner.name, "only one reference can have controller set to true")
            controller = True


def _finalizers(finalizers: Sequence[str], path: str) -> Errors:
    """`finalizers`: label keys, reported at the list; without prefix only those of Kubernetes, reported at the item."""
    for index, name in enumerate(finalizers):
        yield from formatted(name, path, label_key)
        if "/" not in name and name not in _STANDARD:
            yield invalid(f"{path}[{index}]", name, "is neither a standard finalizer nor fully qualified")
    if set(_EXCLUSIVE) <= set(finalizers):
        yield invalid(path, None, f"{' and '.join(_EXCLUSIVE)} cannot be both set")
