"""Random specs of Runs: requests near the edges, affinity of every kind and operator, labels that often match."""

from typing import Any

from tests.oracle.amounts import EDGES, request_value
from tests.oracle.ask import PREFERRED, REQUIRED, TOPOLOGY_KEY
from tests.oracle.fields import Json
from tests.oracle.world import Draft

LABELS = {"app": ("web", "db", "cache"), "tier": ("a", "b"), "team": ("red", "blue", "")}


def random_labels(draft: Draft) -> Json:
    """Draw labels from a vocabulary so small that selectors meet them."""
    return {key: draft.pick(values) for key, values in LABELS.items() if draft.chance(0.6)}


def random_requests(draft: Draft, share: int) -> Json:
    """Draw requests of which about `share` fit on an empty Pod; often an amount at an edge, seldom a 0."""
    requests = {}
    for resource, capacity in draft.capacity.items():
        if draft.chance(0.45):
            fitting = [edge for edge in EDGES if edge <= capacity // share]
            plain = draft.rng.randrange(1, max(2, capacity // share))
            amount = draft.pick(fitting) if fitting and capacity > 2**32 else plain
            requests[resource] = None if draft.chance(0.02) else request_value(draft.rng, amount)
    if draft.chance(0.1):
        requests["runs"] = draft.pick(("0", "1", 0, "1000m"))
    return requests


def random_selector(draft: Draft, labels: Json | None = None) -> Any:
    """Draw a selector; with labels, one that selects them."""
    if labels:
        return {"matchLabels": dict(draft.rng.sample(sorted(labels.items()), draft.rng.randrange(1, len(labels) + 1)))}
    shape = draft.rng.random()
    if shape < 0.06:
        return None
    if shape < 0.12:
        return {}
    selector: Json = {}
    if shape < 0.5:
        key = draft.pick(list(LABELS))
        selector["matchLabels"] = {key: draft.pick(LABELS[key])}
    if shape >= 0.4:
        selector["matchExpressions"] = [_line(draft) for _ in range(draft.pick((1, 1, 2)))]
    return selector


def _line(draft: Draft) -> Json:
    operator = draft.pick(("In", "In", "NotIn", "Exists", "DoesNotExist"))
    key = draft.pick(list(LABELS))
    line: Json = {"key": key, "operator": operator}
    if operator in {"In", "NotIn"}:
        line["values"] = draft.rng.sample(LABELS[key], draft.rng.randrange(1, len(LABELS[key])))
    elif draft.chance(0.3):
        line["values"] = draft.pick(([], None))
    return line


def term(selector: Any, **others: Any) -> Json:
    """Write a term of this topology."""
    return {"labelSelector": selector, "topologyKey": TOPOLOGY_KEY, **others}


def preferred_terms(draft: Draft) -> list[Json]:
    """Draw one to three preferred terms."""
    weights = (1, 10, 50, 100, draft.rng.randrange(1, 101))
    return [
        {"weight": draft.pick(weights), "runAffinityTerm": term(random_selector(draft))}
        for _ in range(draft.pick((1, 1, 2, 3)))
    ]


def random_affinity(draft: Draft, labels: Json) -> Json | None:
    """Draw the affinity of a Run that has these labels."""
    joins: Json = {}
    avoids: Json = {}
    if draft.chance(0.25):
        own = labels if draft.chance(0.4) else None
        joins[REQUIRED] = [term(random_selector(draft, own)) for _ in range(draft.pick((1, 1, 1, 2)))]
    if draft.chance(0.25):
        avoids[REQUIRED] = [term(random_selector(draft)) for _ in range(draft.pick((1, 1, 2)))]
    if draft.chance(0.4):
        joins[PREFERRED] = preferred_terms(draft)
    if draft.chance(0.3):
        avoids[PREFERRED] = preferred_terms(draft)
    empty: Json | None = draft.pick(({}, None))
    affinity = {
        "runAffinity": joins or empty,
        "runAntiAffinity": avoids or empty,
    }
    return affinity if joins or avoids or draft.chance(0.2) else None


def add_run(draft: Draft, pool: tuple[str, str], *, judged: bool = False, **spec: Any) -> Json:
    """Add a Pending Run that asks for little; entries of `spec` replace what is drawn."""
    namespace, runtime = pool
    labels = random_labels(draft)
    run = draft.add(
        "Run",
        namespace,
        f"run-{draft.next_run(namespace)}",
        labels=labels or draft.pick(({}, None)),
        spec={
            "runtime": runtime,
            "resources": {"requests": random_requests(draft, share=4)},
            "affinity": random_affinity(draft, labels),
        }
        | spec,
        status=draft.pick(({"phase": "Pending"}, {}, {"phase": ""}, None)),
    )
    if judged:
        draft.judged.append((namespace, run["metadata"]["name"]))
    return run
