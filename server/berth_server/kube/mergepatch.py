"""JSON merge patch (RFC 7386) on decoded JSON. It must not know what it patches."""

from collections.abc import Mapping
from typing import Any


def merge_patch(target: Any, patch: Any) -> Any:
    """Return the target with the patch merged in; neither is changed, and parts of both are shared by the result.

    Null in the patch removes a member, a map is merged member by member, anything else (a list too) replaces whole.
    """
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged
