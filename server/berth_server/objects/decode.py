"""From JSON to the structs of `resources`, with one kind of error however the bytes are wrong.

One decoder a kind, made once. A decoded struct owns all that it holds and never keeps its input alive. This module must
not judge what an object means: an odd spec decodes, and `runspec` says what is wrong with it.
"""

from typing import Any, Final

import msgspec

from berth_server.objects.resources import Resource, Run, type_of_kind

_DECODERS: Final = {kind: msgspec.json.Decoder(struct) for kind, struct in type_of_kind.items()}


class DecodeError(ValueError):
    """The bytes are not an object of this kind. The message names the object, the fault and its path in one clause."""


def decode(kind: str, data: bytes | msgspec.Raw) -> Resource:
    """Decode one object of a kind in `type_of_kind` (else KeyError). Fields that the struct does not name are skipped.

    The resourceVersion is a decimal number or empty: Kubernetes orders versions of one resource as integers (KEP-5504).
    Raises DecodeError.
    """
    try:
        resource = _DECODERS[kind].decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise DecodeError(f"{_named(kind, data)}: {error}") from None
    text = resource.metadata.resource_version
    if text and not (text.isascii() and text.isdecimal()):
        raise DecodeError(f"{_named(kind, data)}: metadata.resourceVersion {text!r} is not a number")
    if isinstance(resource, Run) and resource.status is not None:
        # Raw is a view that would pin the whole input, which may be a list of every Run there is.
        msgspec.structs.force_setattr(resource.status, "conditions", resource.status.conditions.copy())
    return resource


def version_of(resource: Resource) -> int:
    """The resourceVersion of a decoded object as an integer; 0 if it has none."""
    return int(resource.metadata.resource_version or 0)


def _named(kind: str, data: bytes | msgspec.Raw) -> str:
    """The kind, and the name as far as it can be made out."""
    try:
        value: Any = msgspec.json.decode(data)
        metadata = value["metadata"]
        names = [part for part in (metadata.get("namespace"), metadata.get("name")) if part]
        return f"{kind} {'/'.join(names)}" if names else kind
    except (msgspec.DecodeError, RecursionError, LookupError, TypeError, AttributeError):
        return kind
