"""The two scores over the feasible Pods, in rational arithmetic.

Maximum and ranks are taken over the feasible rows only. Both weights are 1, their default.
"""

from dataclasses import dataclass
from fractions import Fraction

from tests.oracle.ask import Ask
from tests.oracle.filters import Question, stands_on
from tests.oracle.view import RuntimePod, View

WEIGHTS = {"PreferredRunAffinity": 1, "LeastLoaded": 1}
RAW_LIMIT = 2**63 - 1


@dataclass(frozen=True, slots=True)
class PodScore:
    """The scores of one feasible Pod: plugin to (raw, normalized, weighted), and their weighted sum."""

    plugins: dict[str, tuple[int, int, int]]
    total: int


def score_pods(question: Question, feasible: list[RuntimePod]) -> dict[str, PodScore]:
    """Score every feasible Pod, by name."""
    wishes = {pod.name: preference(question, pod) for pod in feasible}
    loads = {pod.name: load(question.view, question.ask, pod) for pod in feasible}
    wished = normalize_preference(wishes)
    ranked = normalize_load(loads)
    scores = {}
    for pod in feasible:
        raw_load = min(int(loads[pod.name][0] * 10**6), RAW_LIMIT)
        plugins = {
            "PreferredRunAffinity": _weigh("PreferredRunAffinity", wishes[pod.name], wished[pod.name]),
            "LeastLoaded": _weigh("LeastLoaded", raw_load, ranked[pod.name]),
        }
        scores[pod.name] = PodScore(plugins, sum(weighted for _, _, weighted in plugins.values()))
    return scores


def preference(question: Question, pod: RuntimePod) -> int:
    """Sum the weights of the preferred terms that a Pod satisfies."""
    joins = sum(w for w, term in question.ask.preferred_affinity if stands_on(question.view, pod, term))
    avoids = sum(w for w, term in question.ask.preferred_anti_affinity if not stands_on(question.view, pod, term))
    return joins + avoids


def normalize_preference(wishes: dict[str, int]) -> dict[str, int]:
    """Scale to 0..100 by the largest."""
    largest = max(wishes.values(), default=0)
    return {name: wish * 100 // largest if largest else 0 for name, wish in wishes.items()}


def load(view: View, ask: Ask, pod: RuntimePod) -> tuple[Fraction, Fraction]:
    """Give (largest, sum) of (used + request) / capacity over the advertised resources with positive capacity."""
    ratios = [
        Fraction(view.used(pod, resource) + ask.requests.get(resource, 0), capacity)
        for resource, capacity in (pod.capacity or {}).items()
        if capacity > 0
    ]
    return max(ratios), sum(ratios, Fraction(0))


def normalize_load(loads: dict[str, tuple[Fraction, Fraction]]) -> dict[str, int]:
    """Rank ascending; equal loads share the score of the first position of their group."""
    ascending = sorted(loads.values())
    last = len(ascending) - 1
    return {name: (last - ascending.index(own)) * 100 // last if last else 100 for name, own in loads.items()}


def _weigh(plugin: str, raw: int, normalized: int) -> tuple[int, int, int]:
    return raw, normalized, normalized * WEIGHTS[plugin]
