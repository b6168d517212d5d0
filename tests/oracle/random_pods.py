"""Random Runtime Pods: pools of mostly equal Pods, with each way to be unavailable planted now and then."""

from collections.abc import Callable

from tests.oracle.amounts import EDGES, EXA, FRACTIONAL, NEGATIVE, UNREADABLE, spell
from tests.oracle.fields import Json
from tests.oracle.view import CAPACITY_PREFIX
from tests.oracle.world import Draft

RESOURCES = ("gpu", "memory", "cpu", "slots", "tokens", "disk", "sessions", "licences")
HUGE = (*EDGES[2:], EXA, EXA, 10 * EXA, 10 * EXA)
SPELLED = (4 * 1024, 8 * 2**30, 2000, 5000, 64 * 2**20)


def random_capacity(draft: Draft) -> dict[str, int]:
    """Draw what a Pod of this world advertises: 0 to 8 resources, of which `runs` may be one."""
    names = draft.rng.sample(RESOURCES, draft.pick((0, 0, 1, 1, 2, 2, 3, 4, 6, 8, 8)))
    capacity = {name: _template(draft) for name in names}
    if len(names) < 8 and draft.chance(0.8):
        capacity["runs"] = draft.pick((1, 2, 3, 4, 8, 10, 16))
    return capacity


def _template(draft: Draft) -> int:
    return draft.pick((draft.rng.randrange(1, 17), draft.pick(SPELLED), draft.pick(HUGE)))


def add_pods(draft: Draft, count: int) -> None:
    """Add that many Pods, most of them to the main pool, and a few that are of no pool."""
    pools = [(namespace, runtime) for namespace in draft.namespaces for runtime in draft.runtimes]
    next_index = dict.fromkeys(pools, 0)
    varied = draft.pick((0.0, 0.1, 0.5, 1.0))
    for _ in range(count):
        pool = draft.main if draft.chance(0.65) else draft.pick(pools)
        draft.pods.append(_add_pod(draft, pool, next_index[pool], varied))
        next_index[pool] += 1
    _plant(draft, count)
    if draft.chance(0.1):
        _add_other_pod(draft)


def _add_pod(draft: Draft, pool: tuple[str, str], index: int, varied: float) -> Json:
    namespace, runtime = pool
    annotations = {
        CAPACITY_PREFIX + resource: _capacity_text(draft, _vary(draft, amount) if draft.chance(varied) else amount)
        for resource, amount in draft.capacity.items()
    }
    if annotations and draft.chance(0.04):
        del annotations[draft.pick(list(annotations))]
    heartbeat = {"type": "kruntimes.io/RuntimedReady", "status": "True", "lastProbeTime": _fresh(draft)}
    return draft.add(
        "Pod",
        namespace,
        f"{runtime}-{index}",
        labels={"runtime": runtime},
        annotations=annotations,
        spec={"nodeName": f"node-{index % 3}"},
        status={"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}, heartbeat]},
    )


def _fresh(draft: Draft) -> str:
    return draft.stamp(float(draft.rng.randrange(15)))


def _vary(draft: Draft, amount: int) -> int:
    return draft.pick((amount, max(1, amount // 2), amount + 1, max(1, amount - 1), amount * 2))


def _capacity_text(draft: Draft, amount: int) -> str:
    return spell(draft.rng, amount)


def _add_other_pod(draft: Draft) -> None:
    """Add an ordinary Pod, which is no candidate, or one whose label is empty."""
    labels = draft.pick(({"app": "web"}, {"runtime": ""}))
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    draft.pods.append(draft.add("Pod", draft.main[0], "ordinary-0", labels=labels, spec={}, status=status))


def _plant(draft: Draft, count: int) -> None:
    """Give each fault, now and then, to one to three Pods of the main pool."""
    victims = draft.pods_of(*draft.main)
    if not victims:
        return
    share = 0.1 if count <= 8 else 0.2
    for fault in FAULTS:
        if draft.chance(share):
            for _ in range(1 if count <= 8 else draft.rng.randrange(1, 4)):
                fault(draft, draft.pick(victims))


def _terminating(draft: Draft, pod: Json) -> None:
    pod["metadata"]["deletionTimestamp"] = draft.stamp(draft.pick((5.0, -25.0)))


def _not_ready(draft: Draft, pod: Json) -> None:
    """Break one of the three things that make a Pod ready; a Pod may have more than one fault."""
    status = pod["status"]
    broken = draft.pick(("phase", "Ready", "kruntimes.io/RuntimedReady"))
    if broken == "phase":
        status["phase"] = draft.pick(("Pending", "Failed", "Succeeded", "Unknown"))
    elif draft.chance(0.4):
        status["conditions"] = [entry for entry in status["conditions"] if entry["type"] != broken]
    else:
        for entry in status["conditions"]:
            if entry["type"] == broken:
                entry["status"] = draft.pick(("False", "Unknown"))


def _set_stamp(pod: Json, text: str | None) -> None:
    for entry in pod["status"]["conditions"]:
        if entry["type"] == "kruntimes.io/RuntimedReady":
            entry["lastProbeTime"] = text


def _stale(draft: Draft, pod: Json) -> None:
    _set_stamp(pod, draft.stamp(draft.pick((15.000001, 15.5, 16.0, 29.0, 31.0, 86400.0))))


def _skewed(draft: Draft, pod: Json) -> None:
    _set_stamp(pod, draft.stamp(draft.pick((-30.000001, -31.0, -3600.0))))


def _ahead(draft: Draft, pod: Json) -> None:
    _set_stamp(pod, draft.stamp(draft.pick((-0.05, -1.0, -15.5, -30.0))))


def _oldest_fresh(draft: Draft, pod: Json) -> None:
    _set_stamp(pod, draft.stamp(15.0))


def _no_stamp(draft: Draft, pod: Json) -> None:
    _set_stamp(pod, draft.pick((None, None, "", "yesterday", "0001-01-01T00:00:00Z", "2026-13-01T00:00:00Z")))


def _other_zone(draft: Draft, pod: Json) -> None:
    stamp = draft.as_of.replace(tzinfo=None).isoformat(timespec="seconds")
    _set_stamp(pod, stamp + draft.pick(("+00:00", ".25+00:00", "-00:00", "+01:00")))


def _set_capacity(draft: Draft, pod: Json, text: str) -> None:
    resource = draft.pick([*draft.capacity, "runs"])
    pod["metadata"]["annotations"][CAPACITY_PREFIX + resource] = text


def _invalid_capacity(draft: Draft, pod: Json) -> None:
    _set_capacity(draft, pod, draft.pick(draft.pick((UNREADABLE, NEGATIVE, FRACTIONAL))))


def _drained(draft: Draft, pod: Json) -> None:
    pod["metadata"]["annotations"][CAPACITY_PREFIX + "runs"] = draft.pick(("0", "0", "0k", "-0", "0m"))


def _edge_capacity(draft: Draft, pod: Json) -> None:
    _set_capacity(draft, pod, spell(draft.rng, draft.pick((*EDGES, EXA, EXA, 10 * EXA, 10 * EXA))))


def _not_advertised(draft: Draft, pod: Json) -> None:
    for resource in list(draft.capacity)[:1]:
        pod["metadata"]["annotations"].pop(CAPACITY_PREFIX + resource, None)


FAULTS: tuple[Callable[[Draft, Json], None], ...] = (
    _terminating,
    _not_ready,
    _stale,
    _skewed,
    _ahead,
    _oldest_fresh,
    _no_stamp,
    _other_zone,
    _invalid_capacity,
    _drained,
    _edge_capacity,
    _not_advertised,
)
