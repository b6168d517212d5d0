"""What every rule needs to know of the request, and the checks that many rules share.

A rule is a generator of errors: `rule(new, old, path, case)`. `old` is None on create, and for an item that the stored
list does not have. On update a rule does not judge values that did not change (KEP-5073, validation ratcheting).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from berth.workload.errors import FieldError, invalid, required
from berth.workload.gates import Gate
from berth.workload.rules import Rules

Errors: TypeAlias = Iterator[FieldError]
Format: TypeAlias = Callable[[str], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Case:
    """One request to judge."""

    update: bool
    gates: frozenset[Gate]
    rules: Rules

    def same(self, new: object, old: object) -> bool:
        """Whether the value is stored already, so that it is not judged again."""
        return self.update and new == old


def formatted(value: str, path: str, check: Format) -> Errors:
    """A value that is set must have the format."""
    yield from (invalid(path, value, problem) for problem in check(value))


def required_name(value: str, path: str, check: Format) -> Errors:
    """A name must be there and have the format."""
    if not value:
        yield required(path)
    else:
        yield from formatted(value, path, check)
