"""Random Runs that hold capacity: active ones, with each oddity that an active Run can have, and reserved ones."""

from collections.abc import Callable
from typing import Any

from tests.oracle.amounts import EDGES, FRACTIONAL, NEGATIVE, TOO_LARGE, UNREADABLE, request_value
from tests.oracle.ask import REQUIRED
from tests.oracle.fields import Json
from tests.oracle.random_runs import add_run, random_selector, term
from tests.oracle.view import ACTIVE_PHASES, Reserved
from tests.oracle.world import Draft

LATER_PHASE = "Suspended"


def pool_of(pod: Json) -> tuple[str, str]:
    """Give the (namespace, runtime) of a Pod."""
    return pod["metadata"]["namespace"], (pod["metadata"].get("labels") or {}).get("runtime") or "python"


def add_active(draft: Draft, pod: Json, **spec: Any) -> Json:
    """Add a Run that is active on a Pod."""
    run = add_run(draft, pool_of(pod), **spec)
    run["status"] = {
        "phase": draft.pick(ACTIVE_PHASES),
        "assignedPod": pod["metadata"]["name"],
        "assignedPodUID": pod["metadata"]["uid"],
        "attempt": 1,
    }
    if draft.chance(0.05):
        run["metadata"]["deletionTimestamp"] = draft.stamp(3.0)
    draft.active.append(run)
    return run


def reserve(draft: Draft, run: Json, pod: Json) -> None:
    """Reserve a Pod for a Run."""
    meta = run["metadata"]
    draft.reserved.append(Reserved(meta["uid"], (meta["namespace"], meta["name"]), pod["metadata"]["uid"]))


def add_odd_active_runs(draft: Draft, share: float) -> None:
    """Plant each oddity of an active Run with that probability."""
    for oddity in ACTIVE_ODDITIES:
        if draft.pods and draft.chance(share):
            oddity(draft, add_active(draft, draft.pick(draft.pods_of(draft.main[0]) or draft.pods)))


def _without_uid(draft: Draft, run: Json) -> None:
    run["status"]["assignedPodUID"] = draft.pick((None, ""))
    if draft.chance(0.2):
        run["status"]["assignedPod"] = "gone-0"


def _uid_not_in_view(draft: Draft, run: Json) -> None:
    run["status"]["assignedPodUID"] = "ffffffff-0000-4000-8000-000000000000"


def _unparsable_requests(draft: Draft, run: Json) -> None:
    bad = draft.pick((*UNREADABLE[:3], NEGATIVE[0], FRACTIONAL[0], TOO_LARGE[0], True))
    run["spec"]["resources"]["requests"] = {"runs": "2", "gpu": bad}


def _unknown_phase(draft: Draft, run: Json) -> None:
    run["status"]["phase"] = LATER_PHASE


def _term_does_not_compile(draft: Draft, run: Json) -> None:
    line: Json = draft.pick(
        ({"operator": "Gt"}, {"operator": "In", "values": []}, {"operator": "Exists", "values": ["web"]})
    )
    wrong = {"matchExpressions": [{"key": "app", **line}]}
    run["spec"]["affinity"] = {"runAntiAffinity": {REQUIRED: [term(wrong), term(random_selector(draft))]}}


def _active_nowhere(draft: Draft, run: Json) -> None:
    run["status"] = {"phase": "Running"}


def _repels(draft: Draft, run: Json) -> None:
    run["spec"]["affinity"] = {"runAntiAffinity": {REQUIRED: [term(random_selector(draft))]}}


def _holds_an_edge(draft: Draft, run: Json) -> None:
    for resource in list(draft.capacity)[:2]:
        run["spec"]["resources"]["requests"][resource] = request_value(draft.rng, draft.pick(EDGES))


ACTIVE_ODDITIES: tuple[Callable[[Draft, Json], None], ...] = (
    _without_uid,
    _uid_not_in_view,
    _unparsable_requests,
    _unknown_phase,
    _term_does_not_compile,
    _active_nowhere,
    _repels,
    _holds_an_edge,
)
