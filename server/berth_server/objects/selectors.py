"""Label selectors, compiled once from untyped JSON into values that can be compared, hashed and matched.

Equal selectors are equal values whatever way they were written, so they can be part of a cache key. Whether a value is
unsupported or invalid is told apart here, because a Run with the former waits and one with the latter fails; what
follows from it is not this module's business. It knows nothing of namespaces or topology.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from berth_server.objects.faults import FaultReason, Faults


class Operator(StrEnum):
    """The relation between a label and the values of a requirement (LabelSelectorOperator of meta/v1)."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


_OPERATORS: Final = {operator.value: operator for operator in Operator}
# Members by a module's name: by the name of an enum's attribute each costs as much as the comparison.
_IN, _NOT_IN, _EXISTS = Operator.IN, Operator.NOT_IN, Operator.EXISTS


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label. NotIn and DoesNotExist hold when the key is missing."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels meet it."""
        operator = self.operator
        if operator is _IN:
            return labels.get(self.key) in self.values
        if operator is _NOT_IN:
            return labels.get(self.key) not in self.values
        return (self.key in labels) is (operator is _EXISTS)


@dataclass(frozen=True, slots=True)
class Selector:
    """Requirements that are ANDed: none of them match everything, None matches nothing."""

    requirements: tuple[Requirement, ...] | None

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether it selects an object with these labels."""
        if self.requirements is None:
            return False
        for requirement in self.requirements:  # noqa: SIM110 -- all() costs a generator in the hottest loop of affinity
            if not requirement.matches(labels):
                return False
        return True


NOTHING: Final = Selector(None)
EVERYTHING: Final = Selector(())


def compile_selector(raw: object, path: str, faults: Faults) -> Selector | None:
    """Compile a LabelSelector (matchLabels, matchExpressions) from decoded JSON; null matches nothing, {} everything.

    None if a fault was reported. Unknown fields are ignored, a null map or list is an absent one. Never raises.
    """
    if raw is None:
        return NOTHING
    if not isinstance(raw, dict):
        faults.unsupported(path, raw)
        return None
    labels = _match_labels(raw.get("matchLabels"), f"{path}.matchLabels", faults)
    expressions = _match_expressions(raw.get("matchExpressions"), f"{path}.matchExpressions", faults)
    if labels is None or expressions is None:
        return None
    # Sets forget the order in which they were written; the sort makes one selector one value.
    return Selector(tuple(sorted({*labels, *expressions}, key=_order)))


def _order(requirement: Requirement) -> tuple[str, str, list[str]]:
    return requirement.key, requirement.operator, sorted(requirement.values)


def _match_labels(raw: object, path: str, faults: Faults) -> list[Requirement] | None:
    if raw is None:
        return []
    if not isinstance(raw, dict):
        faults.unsupported(path, raw)
        return None
    found = []
    for key, value in raw.items():
        if not isinstance(value, str):
            faults.unsupported(f"{path}.{key}", value)
        elif not key:
            faults.invalid(FaultReason.INVALID_AFFINITY, path, "a label key is empty")
        else:
            found.append(Requirement(key, Operator.IN, frozenset((value,))))
    return found if len(found) == len(raw) else None


def _match_expressions(raw: object, path: str, faults: Faults) -> list[Requirement] | None:
    if raw is None:
        return []
    if not isinstance(raw, list):
        faults.unsupported(path, raw)
        return None
    compiled = [_requirement(one, f"{path}[{index}]", faults) for index, one in enumerate(raw)]
    found = [requirement for requirement in compiled if requirement is not None]
    return found if len(found) == len(raw) else None


def _requirement(raw: object, path: str, faults: Faults) -> Requirement | None:
    if not isinstance(raw, dict):
        faults.unsupported(path, raw)
        return None
    key = _key(raw.get("key"), path, faults)
    values = _values(raw.get("values"), f"{path}.values", faults)
    name = raw.get("operator")
    operator = _OPERATORS.get(name) if isinstance(name, str) else None
    if operator is None:
        faults.unsupported(f"{path}.operator", name)
    if key is None or values is None or operator is None:
        return None
    takes_values = operator in (_IN, _NOT_IN)
    if bool(values) is not takes_values:
        rule = "needs values" if takes_values else "takes no values"
        faults.invalid(FaultReason.INVALID_AFFINITY, path, f"operator {operator} {rule}")
        return None
    return Requirement(key, operator, values)


def _key(raw: object, path: str, faults: Faults) -> str | None:
    if isinstance(raw, str) and raw:
        return raw
    if raw is None or raw == "":
        faults.invalid(FaultReason.INVALID_AFFINITY, path, "a label key is empty")
    else:
        faults.unsupported(f"{path}.key", raw)
    return None


def _values(raw: object, path: str, faults: Faults) -> frozenset[str] | None:
    if raw is None:
        return frozenset()
    if not isinstance(raw, list):
        faults.unsupported(path, raw)
        return None
    found = [value for value in raw if isinstance(value, str)]
    if len(found) != len(raw):
        index = next(index for index, value in enumerate(raw) if not isinstance(value, str))
        faults.unsupported(f"{path}[{index}]", raw[index])
        return None
    return frozenset(found)
