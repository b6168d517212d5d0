"""YAML as people mean it: duplicate keys are refused, `off` and `no` are words, a date is text.

Plain data out (maps, lists, strings, numbers, booleans, null). No object of Python is ever made from a file.
"""

from collections.abc import Iterator
from typing import Any, Final

import yaml

_TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"
_BOOL: Final = "tag:yaml.org,2002:bool"


class _Loader(yaml.SafeLoader):
    """The safe loader with the booleans of YAML 1.2 and without timestamps."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as the base class has it
        first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP and (tag != _BOOL or first in "tTfF")]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def load_yaml(text: str) -> Any:
    """Return the one document in `text`, or None if it is empty. Raises ValueError that names the line or the path."""
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        for path, line in _duplicates(node, "", set()):
            raise ValueError(f"{path}: is given twice, again in line {line}")
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        where = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise ValueError(f"{where}{error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    finally:
        loader.dispose()


def _duplicates(node: yaml.Node, path: str, seen: set[int]) -> Iterator[tuple[str, int]]:
    if id(node) in seen:  # an alias: looked at where its anchor is
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for index, each in enumerate(node.value):
            yield from _duplicates(each, f"{path}[{index}]", seen)
    elif isinstance(node, yaml.MappingNode):
        names: set[str] = set()
        for key, value in node.value:
            below = f"{path}.{key.value}" if path else str(key.value)
            if isinstance(key, yaml.ScalarNode) and key.value in names:
                yield below, key.start_mark.line + 1
            names.add(str(key.value))
            yield from _duplicates(value, below, seen)
