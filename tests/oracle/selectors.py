"""Label selectors of Kubernetes, as affinity terms use them.

Null matches nothing and `{}` everything; requirements are ANDed; NotIn and DoesNotExist hold on a missing key.
"""

from dataclasses import dataclass
from typing import Any

from tests.oracle.fields import INVALID_AFFINITY, UNSUPPORTED, Faults, as_list, as_map, as_text


@dataclass(frozen=True, slots=True)
class Requirement:
    """One line of a selector."""

    key: str
    operator: str
    values: tuple[str, ...]

    def holds(self, labels: dict[str, str]) -> bool:
        """Tell whether labels satisfy this line."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case _:
                return value is None


@dataclass(frozen=True, slots=True)
class Selector:
    """A compiled selector; `requirements` None is the null selector."""

    requirements: tuple[Requirement, ...] | None

    def matches(self, labels: dict[str, str]) -> bool:
        """Tell whether labels satisfy every line."""
        return self.requirements is not None and all(line.holds(labels) for line in self.requirements)


def read_selector(raw: Any, faults: Faults) -> Selector:
    """Compile a selector; what is wrong with it is added to `faults`."""
    if raw is None:
        return Selector(None)
    body = as_map(raw, faults)
    pairs = as_map(body.get("matchLabels"), faults)
    equals = [Requirement(key, "In", (as_text(value, faults),)) for key, value in pairs.items()]
    lines = [_read_line(line, faults) for line in as_list(body.get("matchExpressions"), faults)]
    if any(not line.key for line in equals + lines):
        faults.add(INVALID_AFFINITY)
    return Selector((*equals, *lines))


def _read_line(raw: Any, faults: Faults) -> Requirement:
    body = as_map(raw, faults)
    operator = as_text(body.get("operator"), faults)
    values = tuple(as_text(value, faults) for value in as_list(body.get("values"), faults))
    if operator not in {"In", "NotIn", "Exists", "DoesNotExist"}:
        faults.add(UNSUPPORTED)
    elif (operator in {"In", "NotIn"}) != bool(values):
        faults.add(INVALID_AFFINITY)
    return Requirement(as_text(body.get("key"), faults), operator, values)
