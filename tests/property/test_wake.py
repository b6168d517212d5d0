"""WAKE: whoever would fit is tried again, by the event that makes it fit and by no slow timer; nothing else wakes."""

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest

from berth_server.config.file import PluginConfig
from berth_server.framework.engine import Engine
from berth_server.framework.profile import build
from berth_server.placement.questions import ReleaseQuestion
from berth_server.plugins import REGISTRY
from berth_server.queue.key import PendingState
from tests.builders import ago, avoids, joins, pod, run, term, workspace
from tests.harness import Harness, new_metrics
from tests.invariants import Bounds, check_one, check_same, misses
from tests.oracle.worlds import random_world
from tests.property.engine_worlds import micros
from tests.property.weather import Weather

Json = dict[str, Any]
Event = Callable[[Harness], Awaitable[object]]
ENGINES = {
    unbound: Engine(build("default", [PluginConfig("WorkspacePlacement", arguments={"unbound": unbound})], REGISTRY))
    for unbound in ("ignore", "wait")
}
P1 = pod("p1", capacity={"runs": 1})
P2 = pod("p2", capacity={"runs": 2})
ELSEWHERE = pod("q1", runtime="js")
HOLDER = run("holder", on=P1)
DB = {"role": "db"}


def wants(name: str = "a", **spec: Any) -> Json:
    """Build the Run that waits."""
    return run(name, **spec)


async def _run_ends(harness: Harness) -> None:
    await harness.set_status("Run", "holder", phase="Succeeded")


async def _run_moves(harness: Harness) -> None:
    await harness.set_status("Run", "holder", assignedPod="q1", assignedPodUID="ns/q1")


async def _more_room_unseen(harness: Harness) -> None:
    """The Pod comes back with more room than it left with."""
    await harness.set_ready("p1", "False")
    harness.pump()
    raw = harness.api.get(harness.ref("Pod", "p1"))
    raw["metadata"]["annotations"]["kruntimes.io/capacity.runs"] = "2"
    raw["status"]["conditions"][0]["status"] = "True"
    await harness.delete("Pod", "p1")
    harness.skip("Pod")
    harness.put(raw)


async def _repaired_with_more_room(harness: Harness) -> None:
    await harness.set_capacity("p1", runs="broken")
    harness.pump()
    await harness.set_capacity("p1", runs=2)


def annotate(**annotations: Any) -> Event:
    """Change annotations of Run a."""
    return lambda h: h.change("Run", "a", {"metadata": {"annotations": annotations}})


def ready(name: str = "p1", **how: Any) -> Event:
    """Write the conditions of a Pod."""
    return lambda h: h.set_ready(name, **how)


def capacity(name: str = "p1", **amounts: object) -> Event:
    """Advertise another capacity."""
    return lambda h: h.set_capacity(name, "ns", **amounts)


def gone(kind: str, name: str) -> Event:
    """Delete an object."""
    return lambda h: h.delete(kind, name)


def comes(thing: Json) -> Event:
    """Create an object."""

    async def event(harness: Harness) -> None:
        harness.put(thing)

    return event


def label(kind: str, name: str, **labels: str) -> Event:
    """Set labels."""
    return lambda h: h.label(kind, name, **labels)


def status(kind: str, name: str, **values: Any) -> Event:
    """Write a status."""
    return lambda h: h.set_status(kind, name, **values)


def spec(kind: str, name: str, **values: Any) -> Event:
    """Write a spec."""
    return lambda h: h.change(kind, name, {"spec": values})


AFFINE = wants(affinity=joins(term(role="db")))
SEED = wants(affinity=joins(term(role="db")), labels=DB)
SHY = wants(affinity=avoids(term(role="db")))
TARGET = run("holder", labels=DB, on=P2)
FAR_TARGET = run("holder", labels=DB, on=ELSEWHERE)
REPELLER = run("holder", affinity=avoids(term(role="web")), on=P2)
WEB = wants(labels={"role": "web"})
BOUND = wants(workspace="w")
STALE = pod("p1", stamp=ago(20))
AHEAD = pod("p1", stamp=ago(-40))

CURES: list[tuple[str, list[Json], dict[str, Event]]] = [
    ("NoRuntimePods", [wants()], {"a Pod comes": comes(P1)}),
    ("NoRuntimePods", [wants(), ELSEWHERE], {"a Pod is relabelled": label("Pod", "q1", runtime="py")}),
    ("RuntimePodTerminating", [wants(), pod("p1", terminating=True)], {"another comes": comes(P2)}),
    ("RuntimePodNotReady", [wants(), pod("p1", ready="False")], {"ready": ready(), "another": comes(P2)}),
    ("StaleHeartbeat", [wants(), STALE], {"a heartbeat": ready(stamp=ago(0)), "another": comes(P2)}),
    ("SkewedClock", [wants(), AHEAD], {"clock mended": ready(stamp=ago(0)), "another": comes(P2)}),
    (
        "InvalidCapacity",
        [wants(), pod("p1", capacity={"runs": "x"})],
        {"mended": capacity(runs=1), "another": comes(P2)},
    ),
    (
        "ResourceNotAdvertised",
        [wants(requests={"gpu": 1}), P1],
        {"advertised": capacity(gpu=1), "another": comes(pod("p2", capacity={"gpu": 1}))},
    ),
    (
        "InsufficientCapacity",
        [wants(), P1, HOLDER, ELSEWHERE],
        {
            "capacity goes up": capacity(runs=2),
            "an active Run ends": _run_ends,
            "an active Run is deleted": gone("Run", "holder"),
            "an active Run moves": _run_moves,
            "another Pod comes": comes(P2),
            "a Pod of another pool is relabelled": label("Pod", "q1", runtime="py"),
            "the Pod is back with more room": _more_room_unseen,
            "the Pod is mended with more room": _repaired_with_more_room,
        },
    ),
    (
        "InsufficientCapacity",
        [
            wants(requests={"gpu": 2}),
            pod("p1", capacity={"gpu": 2}),
            run("holder", requests={"gpu": 1}, on=P1),
        ],
        {"an active Run asks for less": spec("Run", "holder", resources={"requests": {"gpu": 0}})},
    ),
    (
        "WorkspaceMismatch",
        [BOUND, P1, workspace(runtime="js", phase="Pending")],
        {
            "workspace changes": spec("PersistentWorkspace", "w", runtime="py"),
            "it goes": gone("PersistentWorkspace", "w"),
        },
    ),
    (
        "WorkspaceLost",
        [BOUND, P1, workspace(bound="p9")],
        {
            "its Pod comes": comes(pod("p9")),
            "bound elsewhere": status("PersistentWorkspace", "w", boundPod="p1"),
            "unbound": status("PersistentWorkspace", "w", phase="Pending"),
        },
    ),
    (
        "WorkspacePinned",
        [BOUND, P1, ELSEWHERE, workspace(bound="q1")],
        {
            "its Pod changes pool": label("Pod", "q1", runtime="py"),
            "bound elsewhere": status("PersistentWorkspace", "w", boundPod="p1"),
        },
    ),
    ("WorkspaceNotFound", [BOUND, P1], {"it comes": comes(workspace())}),
    (
        "WorkspacePending",
        [BOUND, P1, workspace(phase="Pending")],
        {"it is bound": status("PersistentWorkspace", "w", phase="Bound")},
    ),
    (
        "UnsatisfiedRunAffinity",
        [AFFINE, P2, run("b", labels=DB, affinity=joins(term(role="gone")))],
        {
            "a target comes": comes(TARGET),
            "a Run becomes a target": lambda h: _two(h, comes(run("holder", on=P2)), label("Run", "holder", role="db")),
            "a Run is bound and becomes the target": spec("Run", "b", affinity=None),
        },
    ),
    (
        "UnsatisfiedRunAffinity",
        [AFFINE, P2, ELSEWHERE, FAR_TARGET],
        {
            "its target's Pod changes pool": label("Pod", "q1", runtime="py"),
            "its target moves": status("Run", "holder", assignedPod="p2", assignedPodUID="ns/p2"),
        },
    ),
    (
        "UnsatisfiedRunAffinity",
        [SEED, P2, ELSEWHERE, FAR_TARGET],
        {
            "the target elsewhere ends": _run_ends,
            "the target elsewhere is no target any more": label("Run", "holder", role="web"),
            "the Pod elsewhere goes": gone("Pod", "q1"),
        },
    ),
    (
        "UnsatisfiedRunAntiAffinity",
        [SHY, P2, TARGET],
        {
            "the target ends": _run_ends,
            "the target is deleted": gone("Run", "holder"),
            "the target is none any more": label("Run", "holder", role="web"),
            "another Pod comes": comes(pod("p3")),
        },
    ),
    (
        "ExistingRunAntiAffinity",
        [WEB, P2, REPELLER],
        {
            "the repeller ends": _run_ends,
            "the repeller is deleted": gone("Run", "holder"),
            "the repeller repels no more": spec("Run", "holder", affinity=None),
            "its own labels change": label("Run", "a", role="db"),
            "another Pod comes": comes(pod("p3")),
        },
    ),
    (
        "UnsupportedField",
        [wants(affinity=joins({**term(role="db"), "topologyKey": "zone"})), P1],
        {"the Run changes": spec("Run", "a", affinity=None)},
    ),
    (
        "MemberOfGroup",
        [run("a", annotations={"berth.dev/pod-group-name": "g"}), P1],
        {"the link goes": annotate(**{"berth.dev/pod-group-name": None})},
    ),
]


WAITS = {"WorkspaceNotFound", "WorkspacePending"}


async def _two(harness: Harness, *events: Event) -> None:
    for event in events:
        await event(harness)
        harness.pump()


@pytest.mark.parametrize(
    ("reason", "objects", "event"),
    [
        pytest.param(reason, objects, event, id=f"{reason}: {name}")
        for reason, objects, events in CURES
        for name, event in events.items()
    ],
)
async def test_cures(reason: str, objects: list[Json], event: Event) -> None:
    """Run a waits for that reason; the event itself wakes it, and it is placed."""
    harness = await Harness(*objects, standing=False, engine=ENGINES["wait" if reason in WAITS else "ignore"]).start()
    await harness.drive()
    assert "ns/a" not in harness.placements()
    (row,) = [row for row in harness.core.queue.rows() if row.key.uid == "ns/a"]
    assert row.state is PendingState.UNSCHEDULABLE
    assert reason in row.reasons
    await harness.drive()
    await event(harness)
    harness.pump()
    await harness.drive()
    assert harness.placements().get("ns/a"), harness.status("a")
    check_one(harness)


RESERVATION_ENDS: dict[str, Event] = {
    "released": lambda h: h.service.release(ReleaseQuestion(h.reservations[0].id, "client")),
    "expired": lambda h: h.advance(31.0),
    "its Run is deleted": gone("Run", "b"),
    "its Run is cancelled": spec("Run", "b", cancelRequested=True),
    "its Run is terminal": status("Run", "b", phase="Failed"),
    "its Run is terminating": lambda h: h.change("Run", "b", {"metadata": {"deletionTimestamp": ago(0)}}),
    "its Run is in another attempt": status("Run", "b", attempt=2),
    "its Run is assigned elsewhere": status("Run", "b", phase="Running", assignedPod="q1", assignedPodUID="ns/q1"),
}


@pytest.mark.parametrize("event", [pytest.param(event, id=name) for name, event in RESERVATION_ENDS.items()])
async def test_reservation_ends(event: Event) -> None:
    """A dropped reservation is capacity released, at once and without another event."""
    harness = await Harness(run("a"), run("b", version=2), P1, ELSEWHERE).start()
    await harness.reserve("b", owner="client")
    await harness.drive()
    assert harness.core.queue.state_of("ns/a") is PendingState.UNSCHEDULABLE
    await event(harness)
    harness.pump()
    assert harness.core.queue.state_of("ns/a") in {PendingState.ACTIVE, PendingState.BACKOFF}
    assert not misses(harness)


async def test_target_is_assumed() -> None:
    """S08: a Run that needs another one's label is planned in the next cycle after that one is bound."""
    b = run("b", labels=DB, annotations={"berth.dev/pod-group-name": "g"})
    harness = await Harness(AFFINE, b, P2).start()
    await harness.drive()
    assert harness.core.queue.state_of("ns/a") is PendingState.UNSCHEDULABLE
    await harness.change("Run", "b", {"metadata": {"annotations": {"berth.dev/pod-group-name": None}}})
    harness.pump()
    await harness.drive()
    assert harness.placements() == {"ns/a": "ns/p2", "ns/b": "ns/p2"}
    assert harness.clock.monotonic() == 1000.0


# --- what wakes nobody ---------------------------------------------------------------------------------------------


def activations(harness: Harness) -> float:
    """Sum of both families of wake-ups."""
    metrics = harness.metrics
    families = (*metrics.pending_run_wakeups.values(), *metrics.queue_activations.values())
    return sum(float(counter._value.get()) for counter in families)


async def test_an_hour_in_which_nothing_changes() -> None:
    """100 Runs wait, Pods give heartbeats: after the first verdicts nobody is woken, planned or written (S04)."""
    runs = [run(f"w{number:03}", requests={"runs": 3}) for number in range(100)]
    pods = [pod(f"p{number}") for number in range(3)]
    harness = await Harness(*runs, *pods, standing=False).start()
    await harness.drive()
    assert harness.store.written == 100
    await harness.drive()
    before = activations(harness), harness.store.written
    planned = harness.metric("kruntimes_scheduler_sync_total", result="no_pods")
    for tick in range(1, 721):
        harness.clock.advance(5.0)
        for number in range(3):
            await harness.set_ready(f"p{number}", stamp=ago(-5 * tick))
        harness.pump()
        assert await harness.driver.step(wait=0) == 0
    assert (activations(harness), harness.store.written) == before
    assert harness.metric("kruntimes_scheduler_sync_total", result="no_pods") == planned == 100


async def test_own_message_wakes_nobody() -> None:
    """The echo of a status message that Berth wrote activates no key, the Run's own least of all."""
    harness = await Harness(run("a"), run("b"), pod("p1", capacity={"runs": 0})).start()
    assert await harness.driver.step(wait=0) == 2
    await harness.driver.step(wait=0)
    await harness.service.drain()
    before = activations(harness)
    assert harness.pump("Run") == 2
    assert harness.item("a").message == "0/1 runtime pods: 1 InsufficientCapacity"
    assert activations(harness) == before
    assert await harness.driver.step(wait=0) == 0


# --- random worlds -------------------------------------------------------------------------------------------------

WORLDS = 15
CHUNKS = 4
SLOW_CHUNKS = 16
EVENTS = 25
METRICS = new_metrics()


async def one_world(seed: str) -> None:
    """Let events and the driver take turns; when all is quiet nobody waits who would fit."""
    rng = Random(seed)
    world = random_world(rng.randrange(2**31))
    harness = Harness(
        *world.objects,
        standing_at=micros(world.as_of),
        wall=micros(world.as_of),
        standing=rng.random() < 0.7,
        engine=ENGINES[world.unbound],
        metrics=METRICS,
    )
    await harness.start()
    bounds, weather, path = Bounds(harness), Weather(rng, harness), list[str]()
    try:
        for _ in range(EVENTS):
            path.append(await weather.blow())
            if rng.random() < 0.6:
                harness.pump(count=rng.randrange(4))
            if rng.random() < 0.3:
                await harness.driver.step(wait=0)
                await harness.driver.settle()
                bounds.check(harness)
                check_one(harness)
            if rng.random() < 0.1:
                await harness.advance(rng.choice((0.5, 2.0, 16.0, 31.0)))
        harness.pump()
        await harness.advance(61.0)
        await harness.drive()
        bounds.check(harness)
        check_one(harness)
        if harness.standing_at is not None:
            check_same(harness)
        assert misses(harness) == []
    except AssertionError as error:
        raise AssertionError(f"{error}\nworld {seed} after {path}") from error


@pytest.mark.parametrize("chunk", range(CHUNKS))
async def test_random_events(seed: int, chunk: int) -> None:
    """A brute-force look finds nobody that the queue has forgotten."""
    for number in range(WORLDS):
        await one_world(f"{seed}/{chunk}/{number}")


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS, SLOW_CHUNKS))
async def test_more_random_events(seed: int, chunk: int) -> None:
    """More of the same."""
    for number in range(WORLDS):
        await one_world(f"{seed}/{chunk}/{number}")
