"""From JSON to the structs of `resources`, with one kind of error however the bytes are wrong.

One decoder a kind, made once. A decoded struct owns all that it holds and never keeps its input alive. This module must
not judge what an object means: an odd spec decodes, and `runspec` says what is wrong with it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from berth_server.objects.nesting import containers, without
from berth_server.objects.resources import Identity, Resource, Run, type_of_kind


class _Identified(msgspec.Struct):
    metadata: Identity


_DECODERS: Final = {kind: msgspec.json.Decoder(struct) for kind, struct in type_of_kind.items()}
TOO_DEEP: Final = "it is nested too deeply to be read"
_METADATA_LEVEL: Final = 2
_identified: Final = msgspec.json.Decoder(_Identified)


@dataclass(frozen=True, slots=True)
class Undecodable:
    """An object that can't be decoded as its kind: why, and which one it is.

    `metadata` has its name, uid and version; it is None if one of them can't be read either.
    """

    fault: str
    metadata: Identity | None = None


class DecodeError(ValueError):
    """The bytes are not an object of this kind. The message names the object, the fault and its path in one clause."""

    def __init__(self, undecodable: Undecodable) -> None:
        super().__init__(undecodable.fault)
        self.undecodable = undecodable


def decode(kind: str, data: bytes | msgspec.Raw) -> Resource:
    """Decode one object of a kind in `type_of_kind` (else KeyError). Fields that the struct does not name are skipped.

    The resourceVersion is a decimal number or empty: Kubernetes orders versions of one resource as integers (KEP-5504).
    Raises DecodeError.
    """
    try:
        resource = _DECODERS[kind].decode(data)
    except msgspec.DecodeError as error:
        raise DecodeError(_undecodable(kind, data, str(error))) from None
    except RecursionError:
        raise DecodeError(_undecodable(kind, data, TOO_DEEP)) from None
    text = resource.metadata.resource_version
    if text and not _is_number(text):
        raise DecodeError(_undecodable(kind, data, f"metadata.resourceVersion {text!r} is not a number"))
    if isinstance(resource, Run) and resource.status is not None:
        # Raw is a view that would pin the whole input, which may be a list of every Run there is.
        msgspec.structs.force_setattr(resource.status, "conditions", resource.status.conditions.copy())
    return resource


def decode_all(kind: str, every: Iterable[bytes | msgspec.Raw]) -> tuple[list[Resource], list[Undecodable]]:
    """Decode objects of a kind, in order; those apart that can't be decoded."""
    resources: list[Resource] = []
    odd: list[Undecodable] = []
    for data in every:
        try:
            resources.append(decode(kind, data))
        except DecodeError as error:
            odd.append(error.undecodable)
    return resources, odd


def version_of(resource: Resource) -> int:
    """The resourceVersion of a decoded object as an integer; 0 if it has none."""
    return resource.metadata.version


def _undecodable(kind: str, data: bytes | msgspec.Raw, fault: str) -> Undecodable:
    """Return what is wrong and with which object, as far as its metadata alone tell."""
    try:
        found = _identity(data)
    except (msgspec.DecodeError, RecursionError):
        return Undecodable(f"{kind}: {fault}")
    path = "/".join(part for part in (found.namespace, found.name) if part)
    is_whole = found.name and found.uid and _is_number(found.resource_version)
    return Undecodable(f"{kind} {path}: {fault}" if path else f"{kind}: {fault}", found if is_whole else None)


def _identity(data: bytes | msgspec.Raw) -> Identity:
    try:
        return _identified.decode(data).metadata
    except RecursionError:
        whole = bytes(data)
        return _identified.decode(without(whole, containers(whole, _METADATA_LEVEL + 1))).metadata


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()
