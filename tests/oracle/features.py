"""Which of the situations that a scheduler can get wrong occur in a world, told from the world and its verdicts.

Looks at what is there, never at what the generator meant to plant.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

from tests.oracle.ask import Ask, read_ask
from tests.oracle.fields import labels_of, meta, part
from tests.oracle.filters import REASONS
from tests.oracle.object_features import NAMED_AMOUNTS, of_kind, of_objects
from tests.oracle.rules import Verdict
from tests.oracle.scores import load
from tests.oracle.view import View, build_view
from tests.oracle.world import World

HAIR = Fraction(1, 10**12)
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
    found.update(of_objects(world))
    runs = {(meta(run, "namespace"), meta(run, "name")): run for run in of_kind(world, "Run")}
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
