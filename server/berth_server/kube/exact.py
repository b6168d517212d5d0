"""Decoded YAML, JSON or a protobuf Struct as the JSON that was meant: exact numbers, string keys, nothing else.

A double is exact up to 2^53 only; a larger one may stand for another integer than the one that somebody wrote, and a
capacity must not be off by a few bytes. This module must not know which field it looks at.
"""

import math
from typing import Any, Final

_EXACT: Final = 2**53
_SCALARS: Final = frozenset({str, int, bool, type(None)})


class InexactError(ValueError):
    """A value that JSON can't say, or not exactly. The message is one clause that starts with the value's path."""


def plain(value: Any, path: str = "") -> Any:
    """Return the value as maps with string keys, lists, strings, exact numbers, booleans and nulls.

    What is so already is returned as it is, not copied. Raises InexactError; RecursionError if it contains itself.
    """
    return value if _is_plain(value) else _made_plain(value, path)


def _is_plain(value: Any) -> bool:
    """Whether nothing has to be done, which is the rule: found out without making a path for every value."""
    if type(value) is dict:
        for key, member in value.items():
            if type(key) is not str or not (type(member) in _SCALARS or _is_plain(member)):
                return False
        return True
    if type(value) is list:
        return all(type(member) in _SCALARS or _is_plain(member) for member in value)
    return type(value) in _SCALARS


def _made_plain(value: Any, path: str) -> Any:
    match value:
        case dict():
            return {_key(key, path): _made_plain(member, _below(path, key)) for key, member in value.items()}
        case list():
            return [_made_plain(member, f"{path}[{index}]") for index, member in enumerate(value)]
        case float():
            return _number(value, path)
        case None | str() | bool() | int():
            return value
    raise InexactError(f"{_at(path)}JSON has no {type(value).__name__}, write it as a string")


def _key(key: Any, path: str) -> str:
    if isinstance(key, str):
        return key
    raise InexactError(f"{_at(path)}the key {key!r} is not a string, write it in quotes")


def _number(value: float, path: str) -> float:
    if not math.isfinite(value):
        raise InexactError(f"{_at(path)}JSON has no {value}")
    if not value.is_integer():
        return value
    if abs(value) >= _EXACT:
        raise InexactError(f"{_at(path)}{value:g} may have lost digits as a number, write it as a string")
    return int(value)


def _below(path: str, key: Any) -> str:
    name = str(key)
    if "." in name or "/" in name:
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else name


def _at(path: str) -> str:
    return f"{path}: " if path else ""
