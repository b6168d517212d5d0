"""Workspaces in every state, each with a Run that wants it."""

from tests.oracle.fields import Json
from tests.oracle.random_runs import add_run
from tests.oracle.world import Draft

# How often each state is drawn: what some of them show depends on the rest of the world too.
STATES = {
    "absent": 3,
    "pending": 2,
    "bound": 1,
    "bound_by_uid": 2,
    "bound_without_pod": 2,
    "bound_in_another_pool": 3,
    "pod_missing": 1,
    "pod_recreated": 2,
    "lost": 1,
    "released": 1,
    "other_runtime": 1,
    "no_runtime": 1,
    "unknown_phase": 1,
}


def add_workspaces(draft: Draft, share: float) -> None:
    """Add a workspace of each state with that probability, times its weight, and a Run to judge that wants it."""
    for state, weight in STATES.items():
        if draft.chance(weight * share):
            reference = draft.pick(({}, {"kind": "PersistentWorkspace"}, {"apiGroup": "kruntimes.io/v1alpha1"}))
            requests = draft.pick(({}, {"requests": {}}, {"requests": None}))
            add_run(draft, draft.main, judged=True, workspace={"name": f"ws-{state}", **reference}, resources=requests)
            if state != "absent":
                _add_workspace(draft, state)


def _add_workspace(draft: Draft, state: str) -> None:
    namespace, runtime = draft.main
    own = draft.pods_of(namespace, runtime)
    others = [pod for pod in draft.pods_of(namespace) if pod not in own]
    owner = {"other_runtime": draft.runtimes[-1] + "-2", "no_runtime": draft.pick(("", None))}.get(state, runtime)
    draft.add(
        "PersistentWorkspace",
        namespace,
        f"ws-{state}",
        spec={"runtime": owner},
        status=_status(draft, state, own, others or own),
    )


def _status(draft: Draft, state: str, own: list[Json], others: list[Json]) -> Json | None:
    pods = others if state == "bound_in_another_pool" else own
    name, uid = ("gone-0", "gone")
    if pods and state != "pod_missing":
        meta = draft.pick(pods)["metadata"]
        name, uid = meta["name"], meta["uid"]
    bound = {"phase": "Bound", "boundPod": name}
    match state:
        case "pending":
            return draft.pick((None, {}, {"phase": "Pending"}, {"phase": "Pending", "boundPod": name}))
        case "bound_without_pod":
            return {"phase": "Bound", "boundPod": draft.pick((None, ""))}
        case "bound_by_uid":
            return bound | {"boundPodUID": uid}
        case "pod_recreated":
            return bound | {"boundPodUID": "ffffffff-0000-4000-8000-000000000001"}
        case "lost":
            return bound | {"phase": "Lost"}
        case "released":
            return {"phase": "Released"}
        case "unknown_phase":
            return bound | {"phase": "Migrating"}
        case _:
            return bound
