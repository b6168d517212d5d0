"""Text to values: YAML and JSON as kubectl reads them, and nothing that could be read in two ways.

YAML 1.1 has timestamps and numbers to the base of 60, which kubectl does not read, so they stay text here, too; a key
given twice is refused. This module must not know of files or of an object's fields.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

try:
    from yaml import CSafeLoader as SafeLoader
except ImportError:  # PyYAML without libyaml: the same, slower
    from yaml import SafeLoader  # type: ignore[assignment]

_INT: Final = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)$")
_FLOAT: Final = re.compile(
    r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$"
    r"|[-+]?\.(?:inf|Inf|INF)$|\.(?:nan|NaN|NAN)$"
)
_KEPT: Final = frozenset({"tag:yaml.org,2002:null", "tag:yaml.org,2002:bool", "tag:yaml.org,2002:merge"})


class TextError(ValueError):
    """The text can't be read. The message is one clause, with the line where there is one."""


def parse(text: str, *, json_only: bool = False) -> Iterator[Any]:
    """Yield the values of a text: YAML documents, or JSON values one after another, told apart by the first character.

    Raises TextError.
    """
    if json_only or text.lstrip()[:1] in {"{", "["}:
        try:
            yield from _json_values(text)
        except json.JSONDecodeError as error:
            if json_only:
                raise TextError(f"line {error.lineno}: broken JSON: {error.msg}") from None
        except (_DuplicateKeyError, RecursionError, ValueError):
            pass
        else:
            return
    # Not JSON, or JSON with a fault: the YAML parser reads JSON as well, and knows the line.
    yield from _yaml_values(text)


class _DuplicateKeyError(Exception):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _DuplicateKeyError
    return found


def _json_values(text: str) -> list[Any]:
    decoder = json.JSONDecoder(object_pairs_hook=_unique)
    values, position = [], _skip_space(text, 0)
    while position < len(text):
        value, end = decoder.raw_decode(text, position)
        values.append(value)
        position = _skip_space(text, end)
    return values


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


class _Loader(SafeLoader):
    """The safe loader with kubectl's idea of a scalar, and without duplicate keys."""

    yaml_implicit_resolvers = {  # noqa: RUF012 -- overrides
        first: [resolver for resolver in resolvers if resolver[0] in _KEPT]
        for first, resolvers in SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 -- overrides
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"duplicate key {key.value!r}", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver("tag:yaml.org,2002:int", _INT, list("-+0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))


def _yaml_values(text: str) -> Iterator[Any]:
    try:
        loader = _Loader(text)
        while loader.check_data():  # type: ignore[no-untyped-call]
            yield loader.get_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}: " if mark else ""
        raise TextError(f"{place}broken YAML: {error.problem}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise TextError(f"line {line}: broken YAML: {error.reason}") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise TextError(f"broken YAML: {error}") from None
