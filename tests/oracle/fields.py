"""Reading fields of untyped JSON, with the faults that a Run can have collected on the way.

Null is absent, whatever the type. A value of the wrong JSON type is a fault and reads as absent. Must not decide what
follows from a fault: which of several wins is a rule of its own.
"""

from typing import Any, TypeVar

Json = dict[str, Any]

UNSUPPORTED = "UnsupportedField"
INVALID_RESOURCES = "InvalidResources"
INVALID_AFFINITY = "InvalidAffinity"
INVALID_WORKSPACE = "InvalidWorkspaceReference"

Faults = set[str]
T = TypeVar("T")


def as_map(value: Any, faults: Faults) -> Json:
    """Read an object; absent is empty."""
    return _typed(value, dict, {}, faults)


def as_list(value: Any, faults: Faults) -> list[Any]:
    """Read an array; absent is empty."""
    return _typed(value, list, [], faults)


def as_text(value: Any, faults: Faults) -> str:
    """Read a string; absent is empty."""
    return _typed(value, str, "", faults)


def as_flag(value: Any, faults: Faults) -> bool:
    """Read a boolean; absent is false."""
    return _typed(value, bool, False, faults)


def as_whole(value: Any, faults: Faults) -> int:
    """Read an integer; absent is 0. A boolean is none, a whole double is one (JSON does not tell them apart)."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool):
        faults.add(UNSUPPORTED)
        return 0
    return _typed(value, int, 0, faults)


def _typed(value: Any, kind: type[T], absent: T, faults: Faults) -> T:
    if value is None:
        return absent
    if isinstance(value, kind):
        return value
    faults.add(UNSUPPORTED)
    return absent


def meta(thing: Json, field: str) -> str:
    """Give a text field of an object's metadata, empty when absent."""
    return thing["metadata"].get(field) or ""


def labels_of(thing: Json) -> dict[str, str]:
    """Give an object's labels."""
    return thing["metadata"].get("labels") or {}


def annotations_of(thing: Json) -> dict[str, str]:
    """Give an object's annotations."""
    return thing["metadata"].get("annotations") or {}


def part(thing: Json, field: str) -> Json:
    """Give `spec` or `status` of an object, empty when absent."""
    return thing.get(field) or {}


def condition_of(thing: Json, kind: str) -> Json:
    """Give the condition of a type, empty when absent."""
    found = [entry for entry in part(thing, "status").get("conditions") or [] if entry.get("type") == kind]
    return found[0] if found else {}
