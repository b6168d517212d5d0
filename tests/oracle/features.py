"""Which of the situations that a scheduler can get wrong occur in a world, told from the world and its verdicts.

Looks at what is there, never at what the generator meant to plant.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tests.oracle.amounts import EDGES
from tests.oracle.ask import Ask, read_ask, use_of
from tests.oracle.clock import parse_instant, seconds
from tests.oracle.fields import Json, annotations_of, condition_of, labels_of, meta, part
from tests.oracle.filters import REASONS
from tests.oracle.quantity import parse_quantity
from tests.oracle.rules import Verdict
from tests.oracle.scores import load
from tests.oracle.view import ACTIVE_PHASES, CAPACITY_PREFIX, View, build_view, is_active, phase_of
from tests.oracle.world import World

HAIR = Fraction(1, 10**12)
NAMED_AMOUNTS = {
    "0": 0,
    "1": 1,
    "2^53-1": EDGES[2],
    "2^53": EDGES[3],
    "2^53+1": EDGES[4],
    "2^62": EDGES[5],
    "2^62+1": EDGES[6],
    "2^63-1": EDGES[7],
}
ELIGIBILITIES = (
    "Eligible",
    "AlreadyAssigned",
    "Terminal",
    "Terminating",
    "Cancelled",
    "NoRuntime",
    "UnsupportedField",
    "InvalidResources",
    "InvalidAffinity",
    "InvalidWorkspaceReference",
    "MemberOfGroup",
    "RetryDelay",
)
WORKSPACES = ("absent", "other runtime", "Pending", "Bound", "Bound without Pod", "Lost", "Released")

REQUIRED_FEATURES = (
    *("no Pods", "over 100 Pods", "no resources", "8 resources", "Pod names shared by namespaces", "unbound: wait"),
    *(f"amount {name}" for name in (*NAMED_AMOUNTS, "1E", "10E", "in milli", "in Ki", "as JSON number")),
    *(f"selector {form}" for form in ("In", "NotIn", "Exists", "DoesNotExist", "matchLabels", "null", "{}")),
    *("active without UID", "active on a UID not in view", "active with unparsable requests"),
    *("active in an unknown phase", "active and terminating", "active nowhere"),
    *("reserved", "own reservation", "reserved and active", "overcommitted Pod"),
    *("drained Pod", "runs by default", "stamp ahead and trusted", "stamp of 15 s", "no stamp"),
    *(f"judged {eligibility}" for eligibility in ELIGIBILITIES),
    *(f"rejected {reason}" for reason in REASONS),
    *(f"workspace {state}" for state in WORKSPACES),
    *("workspace of another UID", "workspace in another pool", "workspace holds"),
    *("several feasible", "equal ranks in the middle", "tie by name", "preference decides", "preference differs"),
    *("loads a hair apart", "largest ratios equal, sums not"),
    *("preferred affinity", "preferred anti-affinity", "affinity joined", "affinity seeded", "anti-affinity kept"),
    *("target of another runtime", "seeding forbidden by another runtime"),
)


def features(world: World, verdicts: Sequence[Verdict]) -> set[str]:
    """Name the situations that occur; `verdicts` belong to `world.runs`, in order."""
    found = {"unbound: wait"} if world.unbound == "wait" else set()
    runs = {(meta(run, "namespace"), meta(run, "name")): run for run in _of_kind(world, "Run")}
    found.update(
        _of_active_runs(world),
        _of_pods(world),
        _of_amounts(world),
        _of_selectors(world),
        _of_use(world),
        _of_reservations(world),
    )
    for key, verdict in zip(world.runs, verdicts, strict=True):
        found.add(f"judged {verdict.eligibility}")
        found.update(f"rejected {reason}" for _, reason in verdict.rejections.values())
        found.update(_of_scores(verdict))
        ask = read_ask(runs[key])
        if not ask.fault and ask.runtime:
            view = build_view(world.objects, world.reserved, key[0], meta(runs[key], "uid"))
            found.update(_of_affinity(ask, labels_of(runs[key]), view, verdict))
            found.update(_of_workspace(ask, view, verdict))
            found.update(_of_loads(ask, view, verdict))
    return found


def _of_kind(world: World, kind: str) -> list[Json]:
    return [thing for thing in world.objects if thing["kind"] == kind]


def _of_pods(world: World) -> Iterator[str]:
    pods = [pod for pod in _of_kind(world, "Pod") if labels_of(pod).get("runtime")]
    if len(pods) == 0 or len(pods) > 100:
        yield "over 100 Pods" if pods else "no Pods"
    if max(Counter(meta(pod, "name") for pod in pods).values(), default=0) > 1:
        yield "Pod names shared by namespaces"
    for pod in pods:
        advertised = [name for name in annotations_of(pod) if name.startswith(CAPACITY_PREFIX)]
        yield {0: "no resources", 8: "8 resources"}.get(len(advertised), "some resources")
        runs = annotations_of(pod).get(CAPACITY_PREFIX + "runs")
        if runs is None:
            yield "runs by default"
        elif parse_quantity(runs) == 0:
            yield "drained Pod"
        heartbeat = condition_of(pod, "kruntimes.io/RuntimedReady")
        stamp = parse_instant(heartbeat.get("lastProbeTime"))
        age = None if stamp is None else seconds(world.as_of) - stamp
        if age is None:
            yield "no stamp"
        elif age == 15:
            yield "stamp of 15 s"
        elif -30 <= age < 0:
            yield "stamp ahead and trusted"


def _of_amounts(world: World) -> Iterator[str]:
    values = [value for run in _of_kind(world, "Run") for value in _requests(run).values()]
    for pod in _of_kind(world, "Pod"):
        values += [text for name, text in annotations_of(pod).items() if name.startswith(CAPACITY_PREFIX)]
    for value in values:
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield "amount as JSON number"
        if not isinstance(value, str):
            continue
        amount = parse_quantity(value)
        yield from (f"amount {name}" for name, edge in NAMED_AMOUNTS.items() if amount == edge)
        if amount is not None:
            yield f"amount {value}" if value in {"1E", "10E"} else "amount in another form"
            yield {"m": "amount in milli", "i": "amount in Ki"}.get(value[-1:], "amount in another form")


def _requests(run: Json) -> Json:
    resources = part(run, "spec").get("resources")
    requests = resources.get("requests") if isinstance(resources, dict) else None
    return requests if isinstance(requests, dict) else {}


def _of_selectors(world: World) -> Iterator[str]:
    for run in _of_kind(world, "Run"):
        affinity = part(run, "spec").get("affinity")
        for selector in _find_selectors(affinity):
            if not isinstance(selector, dict) or not selector:
                yield {"None": "selector null", "{}": "selector {}"}.get(str(selector), "selector odd")
                continue
            if selector.get("matchLabels"):
                yield "selector matchLabels"
            yield from (f"selector {line.get('operator')}" for line in selector.get("matchExpressions") or [])


def _find_selectors(tree: Any) -> Iterator[Any]:
    if isinstance(tree, dict):
        if "labelSelector" in tree:
            yield tree["labelSelector"]
        for branch in tree.values():
            yield from _find_selectors(branch)
    if isinstance(tree, list):
        for branch in tree:
            yield from _find_selectors(branch)


def _of_active_runs(world: World) -> Iterator[str]:
    pods = _of_kind(world, "Pod")
    uids = {meta(pod, "uid") for pod in pods}
    names = {meta(pod, "name") for pod in pods}
    for run in filter(is_active, _of_kind(world, "Run")):
        yield from _of_active_run(run, uids, names)


def _of_active_run(run: Json, uids: set[str], names: set[str]) -> Iterator[str]:
    status = part(run, "status")
    if status.get("assignedPodUID"):
        if status["assignedPodUID"] not in uids:
            yield "active on a UID not in view"
    elif status.get("assignedPod") in names:
        yield "active without UID"
    elif not status.get("assignedPod"):
        yield "active nowhere"
    if phase_of(run) not in ACTIVE_PHASES:
        yield "active in an unknown phase"
    if meta(run, "deletionTimestamp"):
        yield "active and terminating"
    if read_ask(run).faults & {"InvalidResources", "UnsupportedField"} and use_of(run) == {"runs": 1}:
        yield "active with unparsable requests"


def _of_use(world: World) -> Iterator[str]:
    for namespace in {meta(pod, "namespace") for pod in _of_kind(world, "Pod")}:
        view = build_view(world.objects, world.reserved, namespace, "")
        for pod in view.runtime_pods:
            if any(view.used(pod, resource) > capacity for resource, capacity in (pod.capacity or {}).items()):
                yield "overcommitted Pod"


def _of_reservations(world: World) -> Iterator[str]:
    active = {
        meta(run, "uid"): part(run, "status").get("assignedPodUID") for run in filter(is_active, _of_kind(world, "Run"))
    }
    for reservation in world.reserved:
        yield "reserved"
        if reservation.run_key in world.runs:
            yield "own reservation"
        if active.get(reservation.run_uid) == reservation.pod_uid:
            yield "reserved and active"


def _of_scores(verdict: Verdict) -> Iterator[str]:
    if verdict.feasible > 1 and verdict.chosen:
        yield "several feasible"
        scores = verdict.scores.values()
        ranks = [score.plugins["LeastLoaded"][1] for score in scores]
        if any(min(ranks) < rank < max(ranks) and count > 1 for rank, count in Counter(ranks).items()):
            yield "equal ranks in the middle"
        best = verdict.scores[verdict.chosen]
        if sum(score.total == best.total for score in scores) > 1:
            yield "tie by name"
        if len({score.plugins["PreferredRunAffinity"][0] for score in scores}) > 1:
            yield "preference differs"
        if best.plugins["LeastLoaded"][1] < max(ranks):
            yield "preference decides"


def _of_loads(ask: Ask, view: View, verdict: Verdict) -> Iterator[str]:
    """Find neighbours in the order of loads that a double can't tell apart, or only by their sums."""
    loads = sorted(load(view, ask, pod) for pod in view.pool(ask.runtime) if pod.name in verdict.scores)
    for (largest, total), (next_largest, next_total) in pairwise(loads):
        low, high = (total, next_total) if largest == next_largest else (largest, next_largest)
        if low != high and high - low < low * HAIR:
            yield "loads a hair apart"
        if largest == next_largest and total != next_total:
            yield "largest ratios equal, sums not"


def _of_affinity(ask: Ask, labels: dict[str, str], view: View, verdict: Verdict) -> Iterator[str]:
    if ask.preferred_affinity:
        yield "preferred affinity"
    if ask.preferred_anti_affinity:
        yield "preferred anti-affinity"
    if ask.anti_affinity and verdict.feasible:
        yield "anti-affinity kept"
    own_pool = {pod.uid for pod in view.pool(ask.runtime)}
    for term in ask.affinity:
        matched = [target.pod_uid in own_pool for target in view.targets if term.matches(target.labels)]
        if verdict.feasible:
            yield "affinity joined" if matched else "affinity seeded"
        if False in matched:
            yield "target of another runtime"
            if True not in matched and term.matches(labels):
                yield "seeding forbidden by another runtime"


def _of_workspace(ask: Ask, view: View, verdict: Verdict) -> Iterator[str]:
    if ask.workspace is None:
        return
    workspace = view.workspaces.get(ask.workspace)
    if workspace is None:
        yield "workspace absent"
        return
    status = part(workspace, "status")
    bound_pod = status.get("boundPod")
    phase = status.get("phase") or "Pending"
    if part(workspace, "spec").get("runtime") != ask.runtime:
        yield "workspace other runtime"
        return
    yield "workspace Bound without Pod" if phase == "Bound" and not bound_pod else f"workspace {phase}"
    if phase == "Bound" and bound_pod:
        found = [pod for pod in view.runtime_pods if pod.name == bound_pod]
        if found and status.get("boundPodUID") not in {None, found[0].uid}:
            yield "workspace of another UID"
        elif found and found[0].runtime != ask.runtime:
            yield "workspace in another pool"
        elif verdict.chosen == bound_pod:
            yield "workspace holds"
