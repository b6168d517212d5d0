"""A hypothetical Run in a request: google.protobuf.Struct to the JSON bytes that kubectl would have sent.

A Struct has doubles only: whole ones become integers again, and from 2^53 up they have lost digits, which is an error.
This module checks what makes the manifest a Run with a name; what its spec means is judged where Runs are judged.
"""

import math
import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from google.protobuf.struct_pb2 import Struct, Value

from berth_server.rpc.codec.fields import MAX_NAME, MAX_NAMESPACE
from berth_server.rpc.codec.violations import Violations

DEFAULT_NAME: Final = "hypothetical"
DEFAULT_NAMESPACE: Final = "default"
_API_VERSION: Final = "kruntimes.io/v1alpha1"
_EXACT: Final = 2.0**53  # from here up neighbouring integers share a double
_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def manifest_json(manifest: Struct, field: str, check: Violations) -> bytes:
    """Return the manifest as JSON. An absent name becomes `hypothetical`, an absent namespace `default`."""
    run = _members(manifest.fields.items(), field, check)
    _check_kind(run, field, check)
    run["metadata"] = _metadata(run.get("metadata"), f"{field}.metadata", check)
    return msgspec.json.encode(run)


def _check_kind(run: dict[str, Any], field: str, check: Violations) -> None:
    kind = run.get("kind")
    if kind == "Pod":
        check.add(f"{field}.kind", "this server has no profile for Pods; it must be Run")
    elif kind != "Run":
        check.add(f"{field}.kind", "must be Run")
    if run.get("apiVersion", _API_VERSION) != _API_VERSION:
        check.add(f"{field}.apiVersion", f"must be {_API_VERSION}, or absent")


def _metadata(metadata: Any, field: str, check: Violations) -> dict[str, Any]:
    if metadata is None:
        metadata = {}
    if not isinstance(metadata, dict):
        check.add(field, "must be an object")
        return {}
    for key, default, most in (("name", DEFAULT_NAME, MAX_NAME), ("namespace", DEFAULT_NAMESPACE, MAX_NAMESPACE)):
        value = metadata.get(key)
        if value is None or value == "":
            metadata[key] = default
        elif not isinstance(value, str):
            check.add(f"{field}.{key}", "must be a string")
        elif len(value) > most:
            check.add(f"{field}.{key}", f"must have at most {most} characters, not {len(value)}")
    return metadata


def _members(fields: Iterable[tuple[str, Value]], path: str, check: Violations) -> dict[str, Any]:
    return {key: _plain(value, _member_path(path, key), check) for key, value in fields}


def _member_path(path: str, key: str) -> str:
    return f"{path}.{key}" if _PLAIN_KEY.fullmatch(key) else f"{path}[{key}]"


def _plain(value: Value, path: str, check: Violations) -> Any:
    # The parser's own limit on nesting (100 messages) bounds this recursion.
    match value.WhichOneof("kind"):
        case "string_value":
            return value.string_value
        case "number_value":
            return _number(value.number_value, path, check)
        case "bool_value":
            return value.bool_value
        case "struct_value":
            return _members(value.struct_value.fields.items(), path, check)
        case "list_value":
            return [_plain(each, f"{path}[{index}]", check) for index, each in enumerate(value.list_value.values)]
        case _:
            return None


def _number(number: float, path: str, check: Violations) -> int | float:
    if not math.isfinite(number):
        check.add(path, "must be a finite number")
    elif abs(number) >= _EXACT:
        check.add(path, "is too large for an exact number; write it as a string")
    elif number.is_integer():
        return int(number)
    return number
