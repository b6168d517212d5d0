"""Runs that are not simply Pending: active and reserved ones, and each way to be ineligible, invalid or unsupported."""

from collections.abc import Callable
from typing import Any

from tests.oracle.amounts import EDGES, FRACTIONAL, NEGATIVE, UNREADABLE, request_value
from tests.oracle.ask import PREFERRED, REQUIRED
from tests.oracle.fields import Json
from tests.oracle.random_runs import add_run, random_requests, random_selector, term
from tests.oracle.rules import GROUP_ANNOTATION
from tests.oracle.view import Reserved
from tests.oracle.world import Draft

ACTIVE = ("Scheduled", "Running", "Ready")
TERMINAL = ("Succeeded", "Failed", "Timeout", "Cancelled")
TOO_LARGE = ("9223372036854775808", "10E", "8Ei")
LATER_VERSION = "Suspended"


def pool_of(pod: Json) -> tuple[str, str]:
    """Give the (namespace, runtime) of a Pod."""
    return pod["metadata"]["namespace"], (pod["metadata"].get("labels") or {}).get("runtime") or "python"


def add_active(draft: Draft, pod: Json, **spec: Any) -> Json:
    """Add a Run that is active on a Pod."""
    run = add_run(draft, pool_of(pod), **spec)
    run["status"] = {
        "phase": draft.pick(ACTIVE),
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
    run["status"]["phase"] = LATER_VERSION


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


def add_odd_judged_runs(draft: Draft, share: float) -> None:
    """Plant each kind of a Run that is not simply eligible with that probability, to be judged."""
    for oddity in JUDGED_ODDITIES:
        if draft.chance(share):
            oddity(draft, add_run(draft, draft.main, judged=True))


def _terminal(draft: Draft, run: Json) -> None:
    run["status"] = {"phase": draft.pick(TERMINAL), "attempt": 1}
    for pod in draft.pods[:1]:
        run["status"] |= {"assignedPod": pod["metadata"]["name"], "assignedPodUID": pod["metadata"]["uid"]}


def _terminating(draft: Draft, run: Json) -> None:
    run["metadata"]["deletionTimestamp"] = draft.stamp(1.0)


def _cancelled(draft: Draft, run: Json) -> None:
    run["spec"]["cancelRequested"] = True


def _no_runtime(draft: Draft, run: Json) -> None:
    run["spec"]["runtime"] = draft.pick(("", None))


def _member_of_group(draft: Draft, run: Json) -> None:
    run["metadata"]["annotations"] = {GROUP_ANNOTATION: draft.pick(("gang", "gang", "Not/AName"))}


def _ended_before(draft: Draft, run: Json) -> None:
    attempt = draft.pick((1, 2, 3, 4, 9, 1000))
    ages = (0.0, 0.5, 1.0, 1.000001, 2.0, 3.999999, 4.0, 59.0, 60.0, 61.0, -3600.0)
    ended = {"type": "Running", "status": draft.pick(("False",) * 4 + ("True",)), "reason": "Failed"}
    if draft.chance(0.95):
        ended["lastTransitionTime"] = draft.stamp(draft.pick(ages))
    run["status"] = {"phase": "Pending", "attempt": attempt, "conditions": [ended]}
    if draft.chance(0.5):
        run["spec"]["retryPolicy"] = draft.pick(({"backoff": "2s"}, {"backoff": "1m30s"}, {"backoff": "250ms"}, {}))


def _delayed(draft: Draft, run: Json) -> None:
    ended = {"type": "Running", "status": "False", "lastTransitionTime": draft.stamp(draft.pick((0.0, 1.5, 3.0)))}
    run["status"] = {"phase": "Pending", "attempt": draft.pick((4, 5, 20)), "conditions": [ended]}


def _invalid_resources(draft: Draft, run: Json) -> None:
    bad = draft.pick(draft.pick((UNREADABLE, NEGATIVE, FRACTIONAL, TOO_LARGE)))
    run["spec"]["resources"]["requests"][draft.pick(("runs", "gpu", "unheard-of"))] = bad


def _invalid_affinity(draft: Draft, run: Json) -> None:
    good = term(random_selector(draft))
    lines: tuple[Json, ...] = (
        {"operator": "In"},
        {"operator": "NotIn", "values": []},
        {"operator": "Exists", "values": ["a"]},
    )
    selectors: list[Json] = [{"matchExpressions": [{"key": "app", **line}]} for line in lines]
    selectors += [{"matchExpressions": [{"key": "", "operator": "Exists"}]}, {"matchLabels": {"": "web"}}]
    weighted: tuple[Json, ...] = (
        {"weight": 0, "runAffinityTerm": good},
        {"weight": 101, "runAffinityTerm": good},
        {"weight": -1, "runAffinityTerm": good},
        {"weight": 50},
        {"weight": 50, "runAffinityTerm": None},
        {"runAffinityTerm": good},
    )
    wrong = {PREFERRED: [draft.pick(weighted)]} if draft.chance(0.5) else {REQUIRED: [term(draft.pick(selectors))]}
    run["spec"]["affinity"] = {draft.pick(("runAffinity", "runAntiAffinity")): wrong}


def _invalid_workspace(draft: Draft, run: Json) -> None:
    run["spec"]["workspace"] = draft.pick(({}, {"name": ""}, {"name": None, "kind": "PersistentWorkspace"}))


def _unsupported(draft: Draft, run: Json) -> None:
    good = term(random_selector(draft))
    gt = {"matchExpressions": [{"key": "app", "operator": "Gt", "values": ["1"]}]}
    affinities: tuple[Any, ...] = (
        {"runAffinity": {REQUIRED: [term(gt)]}},
        {"runAntiAffinity": {REQUIRED: [good | {"topologyKey": "kubernetes.io/hostname"}]}},
        {"runAffinity": {PREFERRED: [{"weight": 0, "runAffinityTerm": good | {"topologyKey": ""}}]}},
        {"runAffinity": {REQUIRED: [good] * 33}},
        {"runAntiAffinity": {REQUIRED: good}},
        {"runAffinity": {PREFERRED: [{"weight": "10", "runAffinityTerm": good}]}},
        {"runAffinity": {REQUIRED: [term("app=web")]}},
        {"runAffinity": {REQUIRED: [term({"matchLabels": {"app": 1}})]}},
        [],
    )
    others: tuple[Json, ...] = (
        {"workspace": {"name": "ws", "kind": "EphemeralWorkspace"}},
        {"workspace": {"name": "", "apiGroup": "kruntimes.io/v2"}},
        {"workspace": "ws"},
        {"resources": {"requests": {"runs": True}}},
        {"resources": {"requests": {"gpu": ["1"]}}},
        {"resources": {"requests": ["gpu"]}},
        {"timeout": 30},
        {"cancelRequested": "true"},
        {"runtime": 7},
    )
    run["spec"] |= {"affinity": draft.pick(affinities)} if draft.chance(0.5) else draft.pick(others)


def _later_phase(draft: Draft, run: Json) -> None:
    run["status"] = {"phase": LATER_VERSION}


def _already_assigned(draft: Draft, run: Json) -> None:
    """Judge an active Run, whose own use and own terms must not count against it."""
    for active in draft.active[-3:]:
        draft.judged.append((active["metadata"]["namespace"], active["metadata"]["name"]))


def _own_reservation(draft: Draft, run: Json) -> None:
    for pod in draft.pods_of(*draft.main)[:1]:
        reserve(draft, run, pod)


def _never_fits(draft: Draft, run: Json) -> None:
    requests = random_requests(draft, share=4)
    for resource in list(draft.capacity)[:1]:
        requests[resource] = request_value(draft.rng, draft.pick((2**62 + 1, 2**63 - 1)))
    run["spec"]["resources"]["requests"] = requests


def _odd_resource(draft: Draft, run: Json) -> None:
    run["spec"]["resources"]["requests"]["unheard-of"] = draft.pick(("1", "0", None))


JUDGED_ODDITIES: tuple[Callable[[Draft, Json], None], ...] = (
    _terminal,
    _terminating,
    _cancelled,
    _no_runtime,
    _member_of_group,
    _ended_before,
    _delayed,
    _invalid_resources,
    _invalid_affinity,
    _invalid_workspace,
    _unsupported,
    _later_phase,
    _already_assigned,
    _own_reservation,
    _never_fits,
    _odd_resource,
)
