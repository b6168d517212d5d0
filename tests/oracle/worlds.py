"""Random worlds that are small enough to judge slowly and odd enough to find what an engine forgot.

The same seed gives the same world, on every machine. Half of the worlds have at most 8 Pods; those with more than 100
hold few Runs, so that thousands of worlds are judged in minutes.
"""

from datetime import UTC, datetime, timedelta
from random import Random

from tests.oracle.active_runs import add_active, add_odd_active_runs, pool_of, reserve
from tests.oracle.features import REQUIRED_FEATURES, features
from tests.oracle.odd_runs import add_odd_judged_runs
from tests.oracle.random_pods import add_pods, random_capacity
from tests.oracle.random_runs import add_run, random_labels, random_requests
from tests.oracle.random_workspaces import add_workspaces
from tests.oracle.world import Draft, World

__all__ = ["REQUIRED_FEATURES", "World", "features", "random_world"]

SMALL = 8
LARGE = 100


def random_world(seed: int) -> World:
    """Make the world of a seed."""
    rng = Random(seed)
    draft = Draft(
        rng=rng,
        as_of=_moment(rng),
        namespaces=["team-a", "team-b", "default"][: rng.choice((1, 2, 3))],
        runtimes=["python", "node", "go"][: rng.choice((1, 2, 3))],
        capacity={},
    )
    draft.capacity = random_capacity(draft)
    count = _pod_count(rng)
    add_pods(draft, count)
    _add_nodes(draft)
    _fill(draft, busy=40 if count > LARGE else 60)
    add_odd_active_runs(draft, share=0.14)
    _add_reservations(draft)
    for _ in range(draft.pick((1, 2, 3, 3))):
        add_run(draft, draft.main if draft.chance(0.85) else _any_pool(draft), judged=True)
    add_odd_judged_runs(draft, share=0.12)
    add_workspaces(draft, share=0.1)
    most = 4 if count > LARGE else 7 if count > SMALL else 10
    judged = draft.judged if len(draft.judged) <= most else rng.sample(draft.judged, most)
    rng.shuffle(draft.objects)
    unbound = draft.pick(("ignore", "wait"))
    return World(draft.objects, draft.as_of, draft.reserved, judged, unbound)


def _moment(rng: Random) -> datetime:
    fraction = rng.choice((0, 0, 0, 250_000, 999_999))
    return datetime(2026, 3, 1, 12, tzinfo=UTC) + timedelta(seconds=rng.randrange(86_400), microseconds=fraction)


def _pod_count(rng: Random) -> int:
    size = rng.random()
    if size < 0.09:
        return 0
    if size < 0.52:
        return rng.choice((1, 2, 3, 4, 5, 6, 6, 7, 7, SMALL, SMALL))
    if size < 0.9:
        return rng.randrange(SMALL + 1, 41)
    return rng.randrange(41, LARGE + 1) if size < 0.91 else rng.randrange(LARGE + 1, 201)


def _add_nodes(draft: Draft) -> None:
    for index in range(3):
        labels = {"topology.kubernetes.io/zone": f"zone-{index}"}
        node = draft.add("Node", "", f"node-{index}", labels=labels, spec={}, status={})
        del node["metadata"]["namespace"]


def _any_pool(draft: Draft) -> tuple[str, str]:
    return draft.pick(draft.namespaces), draft.pick(draft.runtimes)


def _fill(draft: Draft, busy: int) -> None:
    """Put 0 to 2 Runs on each Pod: often twins of one Run, so that many Pods are equally loaded."""
    twin = {"resources": {"requests": random_requests(draft, share=4)}, "affinity": None}
    labels = random_labels(draft)
    alike = draft.pick((0.0, 0.5, 0.9, 1.0))
    pods = draft.rng.sample(draft.pods, min(len(draft.pods), busy))
    for pod in pods:
        for _ in range(draft.pick((0, 0, 1, 1, 1, 2))):
            if len(draft.active) < busy:
                run = add_active(draft, pod, **(twin if draft.chance(alike) else {}))
                if draft.chance(alike / 2):
                    run["metadata"]["labels"] = labels


def _add_reservations(draft: Draft) -> None:
    """Reserve Pods for a few Pending Runs, and now and then the Pod on which a Run is active already."""
    if draft.pods and draft.chance(0.4):
        for _ in range(draft.pick((1, 2, 3))):
            pod = draft.pick(draft.pods)
            reserve(draft, add_run(draft, pool_of(pod)), pod)
    assigned = [run for run in draft.active if run["status"].get("assignedPodUID")]
    if assigned and draft.chance(0.15):
        run = draft.pick(assigned)
        pods = [pod for pod in draft.pods if pod["metadata"]["uid"] == run["status"]["assignedPodUID"]]
        for pod in pods:
            reserve(draft, run, pod)
