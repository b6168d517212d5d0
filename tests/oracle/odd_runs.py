"""Random Runs to judge that are not simply Pending: each way to be ineligible, invalid, unsupported or hard to fit."""

from collections.abc import Callable
from typing import Any

from tests.oracle.active_runs import LATER_PHASE, add_active, reserve
from tests.oracle.amounts import FRACTIONAL, NEGATIVE, TOO_LARGE, UNREADABLE, request_value
from tests.oracle.ask import PREFERRED, REQUIRED
from tests.oracle.fields import Json
from tests.oracle.random_runs import add_run, random_requests, random_selector, term
from tests.oracle.rules import GROUP_ANNOTATION
from tests.oracle.view import TERMINAL_PHASES
from tests.oracle.world import Draft


def add_odd_judged_runs(draft: Draft, share: float) -> None:
    """Plant each kind of a Run that is not simply eligible with that probability, to be judged."""
    for oddity in JUDGED_ODDITIES:
        if draft.chance(share):
            oddity(draft, add_run(draft, draft.main, judged=True))


def _terminal(draft: Draft, run: Json) -> None:
    run["status"] = {"phase": draft.pick(TERMINAL_PHASES), "attempt": 1}
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
    run["status"] = {"phase": LATER_PHASE}


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


def _seeds(draft: Draft, run: Json) -> None:
    """Require a label that only the Run itself has, perhaps beside one that others have."""
    run["metadata"]["labels"] = {"set": "new", "app": "web"}
    own = term({"matchLabels": {"set": "new"}})
    second = [term(random_selector(draft))] if draft.chance(0.2) else []
    run["spec"]["affinity"] = {"runAffinity": {REQUIRED: [own, *second]}}
    run["spec"]["resources"] = None


def _target_in_another_pool(draft: Draft, run: Json) -> None:
    """Require a label that the Run itself has and, in its namespace, a Run of another runtime."""
    namespace, runtime = draft.main
    run["metadata"]["labels"] = {"set": "old"}
    run["spec"]["affinity"] = {"runAffinity": {REQUIRED: [term({"matchLabels": {"set": "old"}})]}}
    for pod in draft.pods_of(namespace):
        if pod["metadata"]["labels"].get("runtime") not in {runtime, "", None}:
            add_active(draft, pod)["metadata"]["labels"] = {"set": "old"}
            return


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
    _seeds,
    _target_in_another_pool,
    _target_in_another_pool,
)
