"""What the spec of a Run says, parsed once into one hashable value.

A spec may come from a newer CRD than this version knows, or hold a user's mistake. The two are told apart, and the
whole spec is read before the answer, because one unsupported value outweighs every invalid one: an older scheduler must
never fail the Runs of a newer cluster. What cannot be parsed still counts: such a Run occupies `runs: 1`.
This module must not judge eligibility or placement.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeVar

from berth_server.objects.duration import parse_duration
from berth_server.objects.faults import Fault, FaultReason, Faults, shown
from berth_server.objects.quantity import MAX_REQUEST, parse_quantity
from berth_server.objects.resources import RunSpec
from berth_server.objects.selectors import Selector, compile_selector

T = TypeVar("T")
WeightedSelector = tuple[int, Selector]

RUNS: Final = "runs"
"""The resource that every Run asks for: 1 when it names none."""

DEFAULT_REQUESTS: Final = ((RUNS, 1),)
DEFAULT_BACKOFF_SECONDS: Final = 1.0
TOPOLOGY_KEY: Final = "kruntimes.io/runtime-pod"

_WORKSPACE_KIND: Final = "PersistentWorkspace"
_WORKSPACE_GROUP: Final = "kruntimes.io/v1alpha1"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_MAX_TERMS: Final = 32
_MAX_WEIGHT: Final = 100


@dataclass(frozen=True, slots=True)
class ParsedSpec:
    """The spec of a Run. Equal specs are one object for as long as the bounded table of recent ones holds it.

    `requests`: whole units sorted by name, without zeros, `runs` always among them; `DEFAULT_REQUESTS` if one of them
    is faulty. The four lists of affinity hold the terms that compile; `uncompiled_anti` counts the required
    anti-affinity terms that do not, and so repel nobody. `timeout_seconds`: None is unbounded. With a `fault` the Run
    cannot be placed.
    """

    runtime: str
    requests: tuple[tuple[str, int], ...]
    required_affinity: tuple[Selector, ...]
    required_anti: tuple[Selector, ...]
    preferred_affinity: tuple[WeightedSelector, ...]
    preferred_anti: tuple[WeightedSelector, ...]
    uncompiled_anti: int
    workspace_name: str | None
    cancel_requested: bool
    timeout_seconds: float | None
    retry_backoff_seconds: float
    fault: Fault | None


def parse_spec(spec: RunSpec) -> ParsedSpec:
    """Parse the untyped values of a Run's spec; null fields are absent ones. Never raises, whatever JSON they hold."""
    faults = Faults()
    runtime = _typed(str, spec.runtime, "spec.runtime", faults) or ""
    requests = _requests(spec.resources, faults)
    affinity = _typed(dict, spec.affinity, "spec.affinity", faults) or {}
    toward = _terms(affinity, "runAffinity", faults)
    away = _terms(affinity, "runAntiAffinity", faults)
    workspace_name = _workspace_name(spec.workspace, faults)
    cancel_requested = _typed(bool, spec.cancel_requested, "spec.cancelRequested", faults) or False
    timeout = _seconds(spec.timeout, "spec.timeout", faults)
    retry_policy = _typed(dict, spec.retry_policy, "spec.retryPolicy", faults) or {}
    backoff = _seconds(retry_policy.get("backoff"), "spec.retryPolicy.backoff", faults)
    return _shared(
        ParsedSpec(
            runtime=runtime,
            requests=requests,
            required_affinity=_compiled(toward[0]),
            required_anti=_compiled(away[0]),
            preferred_affinity=_compiled(toward[1]),
            preferred_anti=_compiled(away[1]),
            uncompiled_anti=away[0].count(None),
            workspace_name=workspace_name,
            cancel_requested=cancel_requested,
            timeout_seconds=timeout or None,
            retry_backoff_seconds=DEFAULT_BACKOFF_SECONDS if backoff is None else backoff,
            fault=faults.first(),
        )
    )


@lru_cache(maxsize=4096)
def _shared(parsed: ParsedSpec) -> ParsedSpec:
    """One object for equal specs: Runs come in their thousands and differ in name only."""
    return parsed


def _typed(kind: type[T], raw: object, path: str, faults: Faults) -> T | None:
    if raw is None or isinstance(raw, kind):
        return raw
    faults.unsupported(path, raw)
    return None


def _seconds(raw: object, path: str, faults: Faults) -> float | None:
    """A span of time that only informs: what cannot be parsed, or is negative, is as if absent."""
    text = _typed(str, raw, path, faults)
    seconds = None if text is None else parse_duration(text)
    return seconds if seconds is not None and seconds >= 0 else None


# --- resources ---------------------------------------------------------------------------------------------------


def _requests(raw: object, faults: Faults) -> tuple[tuple[str, int], ...]:
    if raw is None:
        return DEFAULT_REQUESTS
    path = "spec.resources"
    if not isinstance(raw, dict):
        faults.unsupported(path, raw)
        return DEFAULT_REQUESTS
    named = _typed(dict, raw.get("requests"), f"{path}.requests", faults) or {}
    units = {name: _units(value, f"{path}.requests.{name}", faults) for name, value in named.items()}
    found = {name: count for name, count in units.items() if count}
    if None in units.values():
        return DEFAULT_REQUESTS
    return tuple(sorted({RUNS: 1, **found}.items()))


def _units(raw: object, path: str, faults: Faults) -> int | None:
    """A request in whole units, or None after a fault was reported. JSON numbers count by their text."""
    amount: int | Fraction | None
    match raw:
        case None:
            return 0
        case str():
            amount = parse_quantity(raw)
        case bool() | dict() | list():
            faults.unsupported(path, raw)
            return None
        case int():
            amount = raw
        case _:
            amount = parse_quantity(repr(raw))
    if isinstance(amount, int) and 0 <= amount <= MAX_REQUEST:
        return amount
    faults.invalid(FaultReason.INVALID_RESOURCES, path, f"{shown(raw)} {_problem(amount)}")
    return None


def _problem(amount: int | Fraction | None) -> str:
    if amount is None:
        return "is not a quantity; write a whole number such as 1, 4k or 2Ki"
    if amount < 0:
        return "is negative; write 0 or more"
    if amount > MAX_REQUEST:
        return f"is larger than {MAX_REQUEST}, the largest quantity there is"
    return "is not a whole number; Run resources are counted in whole units"


# --- affinity ----------------------------------------------------------------------------------------------------


def _terms(
    affinity: dict[str, object], name: str, faults: Faults
) -> tuple[list[Selector | None], list[WeightedSelector | None]]:
    """The required and the preferred terms of one direction; None for each that does not compile."""
    if not affinity:
        return [], []
    path = f"spec.affinity.{name}"
    direction = _typed(dict, affinity.get(name), path, faults) or {}
    return (
        _each(_term, direction.get(_REQUIRED), f"{path}.{_REQUIRED}", faults),
        _each(_weighted_term, direction.get(_PREFERRED), f"{path}.{_PREFERRED}", faults),
    )


def _each(compile_term: Callable[[object, str, Faults], T], raw: object, path: str, faults: Faults) -> list[T]:
    terms = _typed(list, raw, path, faults) or []
    if len(terms) > _MAX_TERMS:
        faults.unsupported(path, f"{len(terms)} terms, more than {_MAX_TERMS}")
    return [compile_term(term, f"{path}[{index}]", faults) for index, term in enumerate(terms)]


def _term(raw: object, path: str, faults: Faults) -> Selector | None:
    if not isinstance(raw, dict):
        faults.unsupported(path, raw)
        return None
    selector = compile_selector(raw.get("labelSelector"), f"{path}.labelSelector", faults)
    key = raw.get("topologyKey")
    if key != TOPOLOGY_KEY:
        faults.unsupported(f"{path}.topologyKey", key)
        return None
    return selector


def _weighted_term(raw: object, path: str, faults: Faults) -> WeightedSelector | None:
    if not isinstance(raw, dict):
        faults.unsupported(path, raw)
        return None
    weight = _weight(raw.get("weight"), f"{path}.weight", faults)
    term = raw.get("runAffinityTerm")
    if term is None:
        faults.invalid(FaultReason.INVALID_AFFINITY, path, "a preferred term needs a runAffinityTerm")
        return None
    selector = _term(term, f"{path}.runAffinityTerm", faults)
    return None if weight is None or selector is None else (weight, selector)


def _weight(raw: object, path: str, faults: Faults) -> int | None:
    if raw is not None and (isinstance(raw, bool) or not isinstance(raw, int)):
        faults.unsupported(path, raw)
    elif raw is None or not 1 <= raw <= _MAX_WEIGHT:
        faults.invalid(FaultReason.INVALID_AFFINITY, path, f"a weight is a whole number from 1 to {_MAX_WEIGHT}")
    else:
        return raw
    return None


def _compiled(terms: list[T | None]) -> tuple[T, ...]:
    return tuple(term for term in terms if term is not None)


# --- workspace ---------------------------------------------------------------------------------------------------


def _workspace_name(raw: object, faults: Faults) -> str | None:
    path = "spec.workspace"
    workspace = _typed(dict, raw, path, faults)
    if workspace is None:
        return None
    for field, known in (("kind", _WORKSPACE_KIND), ("apiGroup", _WORKSPACE_GROUP)):
        if workspace.get(field) not in (None, "", known):
            faults.unsupported(f"{path}.{field}", workspace[field])
    name = _typed(str, workspace.get("name"), f"{path}.name", faults)
    if not name:
        faults.invalid(FaultReason.INVALID_WORKSPACE_REFERENCE, f"{path}.name", "a workspace needs a name")
    return name or None
