"""Workspaces in every state, each with a Run that wants it."""

from tests.oracle.fields import Json
from tests.oracle.random_runs import add_run
from tests.oracle.world import Draft

STATES = (
    "absent",
    "pending",
    "bound",
    "bound_by_uid",
    "bound_without_pod",
    "bound_in_another_pool",
    "pod_missing",
    "pod_recreated",
    "lost",
    "released",
    "other_runtime",
    "no_runtime",
    "unknown_phase",
)


def add_workspaces(draft: Draft, share: float) -> None:
    """Add a workspace of each state with that probability, and a Run to judge that wants it."""
    for state in STATES:
        if draft.chance(share):
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
