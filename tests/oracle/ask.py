"""What a Run asks for, read from its spec, and what is wrong with it.

Must not look at the world: everything here follows from the text of one Run.
"""

import json
from dataclasses import dataclass
from typing import Any

from tests.oracle.fields import (
    INVALID_AFFINITY,
    INVALID_RESOURCES,
    INVALID_WORKSPACE,
    UNSUPPORTED,
    Faults,
    Json,
    as_flag,
    as_list,
    as_map,
    as_text,
    as_whole,
    part,
)
from tests.oracle.quantity import parse_quantity
from tests.oracle.selectors import Selector, read_selector

TOPOLOGY_KEY = "kruntimes.io/runtime-pod"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
MAX_REQUEST = 2**63 - 1
MAX_TERMS = 32


@dataclass(frozen=True, slots=True)
class Ask:
    """A Run's spec. Requests hold whole units, none of them 0, and always `runs`."""

    runtime: str
    cancelled: bool
    requests: dict[str, int]
    affinity: tuple[Selector, ...]
    anti_affinity: tuple[Selector, ...]
    preferred_affinity: tuple[tuple[int, Selector], ...]
    preferred_anti_affinity: tuple[tuple[int, Selector], ...]
    workspace: str | None
    faults: frozenset[str]

    @property
    def fault(self) -> str | None:
        """The fault that counts: an unsupported value wins, so that no older version fails a newer one's Run."""
        order = (UNSUPPORTED, INVALID_RESOURCES, INVALID_AFFINITY, INVALID_WORKSPACE)
        return next((fault for fault in order if fault in self.faults), None)


def read_ask(run: Json) -> Ask:
    """Read the spec of the Run that is judged."""
    spec = part(run, "spec")
    faults: Faults = set()
    affinity, anti_affinity = _affinities(spec, faults)
    as_text(spec.get("timeout"), faults)
    _check_retry_policy(spec.get("retryPolicy"), faults)
    return Ask(
        runtime=as_text(spec.get("runtime"), faults),
        cancelled=as_flag(spec.get("cancelRequested"), faults),
        requests=_read_requests(spec, faults),
        affinity=tuple(_read_term(term, faults) for term in _terms(affinity, REQUIRED, faults)),
        anti_affinity=tuple(_read_term(term, faults) for term in _terms(anti_affinity, REQUIRED, faults)),
        preferred_affinity=tuple(_read_preferred(term, faults) for term in _terms(affinity, PREFERRED, faults)),
        preferred_anti_affinity=tuple(
            _read_preferred(term, faults) for term in _terms(anti_affinity, PREFERRED, faults)
        ),
        workspace=_read_workspace(spec.get("workspace"), faults),
        faults=frozenset(faults),
    )


def use_of(run: Json) -> dict[str, int]:
    """Give what an active or reserved Run holds: its requests, or one run where they can't be read."""
    faults: Faults = set()
    requests = _read_requests(part(run, "spec"), faults)
    return {"runs": 1} if faults else requests


def repelled_by(run: Json) -> tuple[Selector, ...]:
    """Give the required anti-affinity terms of an existing Run that compile; the others repel nobody."""
    _, anti_affinity = _affinities(part(run, "spec"), set())
    compiled = []
    for term in _terms(anti_affinity, REQUIRED, set()):
        faults: Faults = set()
        selector = _read_term(term, faults)
        if not faults:
            compiled.append(selector)
    return tuple(compiled)


def _read_requests(spec: Json, faults: Faults) -> dict[str, int]:
    raw = as_map(as_map(spec.get("resources"), faults).get("requests"), faults)
    amounts = {resource: _read_amount(value, faults) for resource, value in raw.items()}
    asked = {resource: amount for resource, amount in amounts.items() if amount}
    return {"runs": 1} | asked


def _read_amount(value: Any, faults: Faults) -> int:
    """Read one request: text, or a number, whose JSON text is the quantity (so does Kubernetes)."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        faults.add(UNSUPPORTED)
        return 0
    amount = parse_quantity(value if isinstance(value, str) else json.dumps(value))
    if amount is None or amount < 0 or amount.denominator != 1 or amount > MAX_REQUEST:
        faults.add(INVALID_RESOURCES)
        return 0
    return int(amount)


def _affinities(spec: Json, faults: Faults) -> tuple[Json, Json]:
    both = as_map(spec.get("affinity"), faults)
    return as_map(both.get("runAffinity"), faults), as_map(both.get("runAntiAffinity"), faults)


def _terms(affinity: Json, kind: str, faults: Faults) -> list[Any]:
    terms = as_list(affinity.get(kind), faults)
    if len(terms) > MAX_TERMS:
        faults.add(UNSUPPORTED)
    return terms


def _read_term(raw: Any, faults: Faults) -> Selector:
    term = as_map(raw, faults)
    if as_text(term.get("topologyKey"), faults) != TOPOLOGY_KEY:
        faults.add(UNSUPPORTED)
    return read_selector(term.get("labelSelector"), faults)


def _read_preferred(raw: Any, faults: Faults) -> tuple[int, Selector]:
    preferred = as_map(raw, faults)
    weight = as_whole(preferred.get("weight"), faults)
    term = preferred.get("runAffinityTerm")
    if not 1 <= weight <= 100 or term is None:
        faults.add(INVALID_AFFINITY)
    return weight, Selector(None) if term is None else _read_term(term, faults)


def _read_workspace(raw: Any, faults: Faults) -> str | None:
    if raw is None:
        return None
    workspace = as_map(raw, faults)
    if as_text(workspace.get("kind"), faults) not in {"", "PersistentWorkspace"}:
        faults.add(UNSUPPORTED)
    if as_text(workspace.get("apiGroup"), faults) not in {"", "kruntimes.io/v1alpha1"}:
        faults.add(UNSUPPORTED)
    name = as_text(workspace.get("name"), faults)
    if not name:
        faults.add(INVALID_WORKSPACE)
    return name


def _check_retry_policy(raw: Any, faults: Faults) -> None:
    policy = as_map(raw, faults)
    as_whole(policy.get("maxAttempts"), faults)
    as_text(policy.get("backoff"), faults)
    for reason in as_list(policy.get("retryableReasons"), faults):
        as_text(reason, faults)
