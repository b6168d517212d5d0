"""The world as one Run sees it: its pool, what is in use on each Pod, and the Runs that attract or repel it.

An item is judged as if it were nowhere, so its own use, its reservation and itself as a target are never in a view.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tests.oracle.ask import repelled_by, use_of
from tests.oracle.fields import Json, annotations_of, labels_of, meta, part
from tests.oracle.quantity import parse_quantity
from tests.oracle.selectors import Selector

ACTIVE_PHASES = ("Scheduled", "Running", "Ready")
TERMINAL_PHASES = ("Succeeded", "Failed", "Timeout", "Cancelled")
PENDING_PHASES = ("", "Pending")
CAPACITY_PREFIX = "kruntimes.io/capacity."
DEFAULT_RUNS = 2
LIMIT = 2**62

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Reserved:
    """An assumed reservation of a Run of the world on a Pod."""

    run_uid: str
    run_key: Key
    pod_uid: str


@dataclass(frozen=True, slots=True)
class RuntimePod:
    """A Pod that can take Runs. `capacity` None: an annotation is unparsable, negative or fractional."""

    json: Json
    uid: str
    name: str
    namespace: str
    runtime: str
    capacity: dict[str, int] | None


@dataclass(frozen=True, slots=True)
class Target:
    """An active or reserved Run, on a Runtime Pod in view, in the namespace of the Run that is judged."""

    labels: dict[str, str]
    pod_uid: str
    repels: tuple[Selector, ...]


@dataclass(frozen=True, slots=True)
class View:
    """What one decision looks at. `use` is keyed by Pod UID, then resource, and never above 2^62."""

    namespace: str
    runtime_pods: list[RuntimePod]
    use: dict[str, dict[str, int]]
    targets: list[Target]
    workspaces: dict[str, Json]

    def pool(self, runtime: str) -> list[RuntimePod]:
        """Give the candidates of a runtime, by name."""
        return sorted((pod for pod in self.runtime_pods if pod.runtime == runtime), key=lambda pod: pod.name)

    def used(self, pod: RuntimePod, resource: str) -> int:
        """Give what others use of one resource of one Pod."""
        return self.use.get(pod.uid, {}).get(resource, 0)

    def targets_on(self, pod: RuntimePod) -> list[Target]:
        """Give the targets that stand on one Pod."""
        return [target for target in self.targets if target.pod_uid == pod.uid]


def build_view(objects: Iterable[Json], reserved: Sequence[Reserved], namespace: str, judged_uid: str) -> View:
    """Look at the world of one namespace without the Run that is judged."""
    kinds: dict[str, list[Json]] = {"Run": [], "Pod": [], "PersistentWorkspace": [], "Node": []}
    for thing in objects:
        kinds[thing["kind"]].append(thing)
    runs = {meta(run, "uid"): run for run in kinds["Run"]}
    placements = [at for at in _placements(kinds["Run"], kinds["Pod"], reserved) if at[0] != judged_uid]
    runtime_pods = [_runtime_pod(pod) for pod in kinds["Pod"] if labels_of(pod).get("runtime")]
    here = [pod for pod in runtime_pods if pod.namespace == namespace]
    return View(
        namespace=namespace,
        runtime_pods=here,
        use=_sum_use(placements, runs),
        targets=_targets(placements, runs, here, namespace),
        workspaces={meta(ws, "name"): ws for ws in kinds["PersistentWorkspace"] if meta(ws, "namespace") == namespace},
    )


def is_active(run: Json) -> bool:
    """Tell whether a Run holds capacity by its phase; a phase that nobody knows does if the Run is assigned."""
    phase = phase_of(run)
    unknown = phase not in ACTIVE_PHASES + TERMINAL_PHASES + PENDING_PHASES
    status = part(run, "status")
    return phase in ACTIVE_PHASES or (unknown and bool(status.get("assignedPodUID") or status.get("assignedPod")))


def phase_of(run: Json) -> str:
    """Give the phase of a Run."""
    return part(run, "status").get("phase") or ""


def _placements(runs: list[Json], pods: list[Json], reserved: Sequence[Reserved]) -> list[tuple[str, str]]:
    """List (Run UID, Pod UID) of assignments and reservations, each pair once even if it is both."""
    uid_by_name = {(meta(pod, "namespace"), meta(pod, "name")): meta(pod, "uid") for pod in pods}
    pairs = set()
    for run in filter(is_active, runs):
        status = part(run, "status")
        by_name = uid_by_name.get((meta(run, "namespace"), status.get("assignedPod") or ""))
        pod_uid = status.get("assignedPodUID") or by_name
        if pod_uid:
            pairs.add((meta(run, "uid"), pod_uid))
    pairs.update((reservation.run_uid, reservation.pod_uid) for reservation in reserved)
    return sorted(pairs)


def _sum_use(placements: list[tuple[str, str]], runs: dict[str, Json]) -> dict[str, dict[str, int]]:
    sums: dict[str, Counter[str]] = {}
    for run_uid, pod_uid in placements:
        sums.setdefault(pod_uid, Counter()).update(use_of(runs[run_uid]))
    return {uid: {resource: min(total, LIMIT) for resource, total in use.items()} for uid, use in sums.items()}


def _targets(
    placements: list[tuple[str, str]], runs: dict[str, Json], here: list[RuntimePod], namespace: str
) -> list[Target]:
    in_view = {pod.uid for pod in here}
    return [
        Target(labels_of(runs[run_uid]), pod_uid, repelled_by(runs[run_uid]))
        for run_uid, pod_uid in placements
        if pod_uid in in_view and meta(runs[run_uid], "namespace") == namespace
    ]


def _runtime_pod(pod: Json) -> RuntimePod:
    return RuntimePod(
        json=pod,
        uid=meta(pod, "uid"),
        name=meta(pod, "name"),
        namespace=meta(pod, "namespace"),
        runtime=labels_of(pod)["runtime"],
        capacity=_read_capacity(pod),
    )


def _read_capacity(pod: Json) -> dict[str, int] | None:
    """Read the advertised capacity; `runs` is advertised even when no annotation says so."""
    amounts: dict[str, Fraction | None] = {"runs": Fraction(DEFAULT_RUNS)}
    for name, text in annotations_of(pod).items():
        if name.startswith(CAPACITY_PREFIX):
            amounts[name.removeprefix(CAPACITY_PREFIX)] = parse_quantity(text)
    capacity = {}
    for resource, amount in amounts.items():
        if amount is None or amount < 0 or amount.denominator != 1:
            return None
        capacity[resource] = min(int(amount), LIMIT)
    return capacity
