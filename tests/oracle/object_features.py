"""What the objects of a world show, whatever is decided about them: one generator of names for each kind of object."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.oracle.amounts import EDGES
from tests.oracle.ask import read_ask, use_of
from tests.oracle.clock import parse_instant, seconds
from tests.oracle.fields import Json, annotations_of, condition_of, labels_of, meta, part
from tests.oracle.quantity import parse_quantity
from tests.oracle.view import ACTIVE_PHASES, CAPACITY_PREFIX, build_view, is_active, phase_of
from tests.oracle.world import World

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


def of_objects(world: World) -> Iterator[str]:
    """Name what the objects and the reservations show."""
    yield from _of_pods(world)
    yield from _of_amounts(world)
    yield from _of_selectors(world)
    yield from _of_active_runs(world)
    yield from _of_use(world)
    yield from _of_reservations(world)


def of_kind(world: World, kind: str) -> list[Json]:
    """List the objects of a kind."""
    return [thing for thing in world.objects if thing["kind"] == kind]


def _of_pods(world: World) -> Iterator[str]:
    pods = [pod for pod in of_kind(world, "Pod") if labels_of(pod).get("runtime")]
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
    values = [value for run in of_kind(world, "Run") for value in _requests(run).values()]
    for pod in of_kind(world, "Pod"):
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
    for run in of_kind(world, "Run"):
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
    pods = of_kind(world, "Pod")
    uids = {meta(pod, "uid") for pod in pods}
    names = {meta(pod, "name") for pod in pods}
    for run in filter(is_active, of_kind(world, "Run")):
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
    for namespace in {meta(pod, "namespace") for pod in of_kind(world, "Pod")}:
        view = build_view(world.objects, world.reserved, namespace, "")
        for pod in view.runtime_pods:
            if any(view.used(pod, resource) > capacity for resource, capacity in (pod.capacity or {}).items()):
                yield "overcommitted Pod"


def _of_reservations(world: World) -> Iterator[str]:
    active = {
        meta(run, "uid"): part(run, "status").get("assignedPodUID") for run in filter(is_active, of_kind(world, "Run"))
    }
    for reservation in world.reserved:
        yield "reserved"
        if reservation.run_key in world.runs:
            yield "own reservation"
        if active.get(reservation.run_uid) == reservation.pod_uid:
            yield "reserved and active"
