"""Play: heartbeats and the lives of Runs, second by second on a virtual clock."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest

from berth_server.kube.embedded import EmbeddedStore
from berth_server.kube.play import Play
from berth_server.placement.ports import EventType, ObjectRef
from tests.contract.store_contract import following
from tests.fakes.virtual_time import VirtualTime

READY = "kruntimes.io/RuntimedReady"
BEAT = "2026-01-01T00:00:05Z"
"""The last heartbeat that is given within the first 7 s."""
FOREIGN = {"type": "Foreign", "status": "True", "theirs": [1]}


def run(name: str, phase: str, *, lasts: str | None = None, pod: str = "p", attempt: int = 1) -> dict[str, Any]:
    """Return a Run of that phase, assigned unless it is Pending."""
    annotations = {} if lasts is None else {"berth.dev/play-duration": lasts}
    status: dict[str, Any] = {"phase": phase, "attempt": attempt, "conditions": [FOREIGN]}
    if phase != "Pending":
        status |= {"assignedPod": pod, "assignedPodUID": f"uid-{pod}"}
    metadata = {"name": name, "namespace": "n", "annotations": annotations}
    return {"kind": "Run", "metadata": metadata, "spec": {"runtime": "python"}, "status": status}


def pod(name: str, heartbeat: str | None, *, ready: str = "True") -> dict[str, Any]:
    """Return a Runtime Pod with a heartbeat."""
    conditions = [FOREIGN, {"type": READY, "status": ready, "lastProbeTime": heartbeat, "message": "kept"}]
    return {"kind": "Pod", "metadata": {"name": name, "namespace": "n"}, "status": {"conditions": conditions}}


@pytest.fixture
def time() -> VirtualTime:
    """The clock, at 2026-01-01T00:00:00Z."""
    return VirtualTime()


@pytest.fixture
def store() -> EmbeddedStore:
    """An empty store."""
    return EmbeddedStore()


@pytest.fixture
async def playing(store: EmbeddedStore, time: VirtualTime) -> AsyncIterator["Playing"]:
    """Play on the store once `load` is called."""
    playing = Playing(store, time)
    yield playing
    await playing.stop()


class Playing:
    """Play on a store, and what a test asks of it."""

    def __init__(self, store: EmbeddedStore, time: VirtualTime) -> None:
        self.store = store
        self.play = Play(store, time, sleep=time.sleep)
        self._task: asyncio.Task[None] | None = None

    def load(self, *objects: dict[str, Any]) -> None:
        """Load the objects and begin."""
        self.store.load(objects)
        self._task = asyncio.create_task(self.play.run())

    async def stop(self) -> None:
        """Cancel the task, and fail if it failed."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def status(self, name: str, kind: str = "Run") -> dict[str, Any]:
        """Return the status of an object."""
        status: dict[str, Any] = self.store.get(ObjectRef(kind, "n", name))["status"]
        return status

    def heartbeat(self, name: str) -> str | None:
        """Return the stamp of a Pod."""
        (condition,) = (one for one in self.status(name, "Pod")["conditions"] if one["type"] == READY)
        stamp: str | None = condition["lastProbeTime"]
        return stamp


def conditions(status: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Our conditions: status and transition time by type."""
    ours = (one for one in status["conditions"] if one != FOREIGN)
    return {one["type"]: (one["status"], one["lastTransitionTime"]) for one in ours}


async def test_a_scheduled_run_runs_and_succeeds(playing: Playing, time: VirtualTime) -> None:
    """Running after 1 s, Succeeded 20 s later; the assignment and foreign conditions stay."""
    playing.load(run("a", "Scheduled"))
    await time.run_for(0.999)
    assert playing.status("a") == run("a", "Scheduled")["status"]
    await time.run_for(0.001)
    assert playing.status("a")["phase"] == "Running"
    assert conditions(playing.status("a")) == {"Running": ("True", "2026-01-01T00:00:01Z")}
    await time.run_for(19.999)
    assert playing.status("a")["phase"] == "Running"
    await time.run_for(0.001)
    status = playing.status("a")
    assert conditions(status) == {
        "Running": ("False", "2026-01-01T00:00:21Z"),
        "Completed": ("True", "2026-01-01T00:00:21Z"),
    }
    assert (status["phase"], status["completionTime"]) == ("Succeeded", "2026-01-01T00:00:21Z")
    assert (status["assignedPodUID"], status["attempt"], status["conditions"][0]) == ("uid-p", 1, FOREIGN)


@pytest.mark.parametrize(
    ("lasts", "want"),
    [
        pytest.param("1m30s", 90.0, id="annotation"),
        pytest.param("0s", 0.0, id="at-once"),
        pytest.param("soon", 20.0, id="unparsable"),
        pytest.param("-1s", 20.0, id="negative"),
        pytest.param(None, 20.0, id="none"),
    ],
)
async def test_the_annotation_says_how_long(
    playing: Playing, time: VirtualTime, lasts: str | None, want: float
) -> None:
    """A Go duration; what is none is the default."""
    playing.load(run("a", "Scheduled", lasts=lasts))
    await time.run_for(1 + want - 0.5)
    assert playing.status("a")["phase"] != "Succeeded"
    await time.run_for(0.5)
    assert playing.status("a")["phase"] == "Succeeded"


async def test_a_running_run_is_played_to_its_end(playing: Playing, time: VirtualTime) -> None:
    """One that was Running in the input has its whole duration before it."""
    playing.load(run("a", "Running", lasts="3s"))
    await time.run_for(3)
    assert playing.status("a")["phase"] == "Succeeded"


@pytest.mark.parametrize("phase", ["Pending", "Ready", "Succeeded", "Failed", "Unheard"])
async def test_other_phases_are_left_alone(playing: Playing, time: VirtualTime, phase: str) -> None:
    """Nothing is written to a Run that waits, serves, is over or is unknown."""
    playing.load(run("a", phase))
    await time.run_for(100)
    assert playing.status("a") == run("a", phase)["status"]


async def test_a_run_scheduled_later_is_played(playing: Playing, time: VirtualTime) -> None:
    """The store's events are followed, and each Run has its own time."""
    playing.load(run("a", "Pending"), run("b", "Scheduled", lasts="2s"))
    await time.run_for(2)
    raw = playing.store.get(ObjectRef("Run", "n", "a"))
    await playing.store.patch_status(
        ObjectRef("Run", "n", "a"),
        {"phase": "Scheduled", "assignedPodUID": "x"},
        version=int(raw["metadata"]["resourceVersion"]),
    )
    await time.run_for(1)
    assert (playing.status("a")["phase"], playing.status("b")["phase"]) == ("Running", "Succeeded")


async def test_an_assignment_that_is_taken_back_is_not_claimed(playing: Playing, time: VirtualTime) -> None:
    """A Run that was preempted within the second is Pending, and has a second again when it is assigned anew."""
    playing.load(run("a", "Scheduled"))
    await time.run_for(0.5)
    await rewrite(playing, "a", phase="Pending", assignedPod=None, assignedPodUID=None)
    await time.run_for(5)
    assert playing.status("a")["phase"] == "Pending"
    await rewrite(playing, "a", phase="Scheduled", assignedPodUID="uid-p")
    await time.run_for(0.4)
    await rewrite(playing, "a", attempt=2, assignedPodUID="uid-q")
    await time.run_for(0.9)
    assert playing.status("a")["phase"] == "Scheduled"
    await time.run_for(0.1)
    assert playing.status("a")["phase"] == "Running"


async def test_a_run_is_read_again_before_it_is_written(store: EmbeddedStore, time: VirtualTime) -> None:
    """One that ended, or was assigned anew, in the very turn of the loop is left alone."""
    store.load([run("a", "Failed"), run("b", "Scheduled", attempt=2)])
    play = Play(store, time)
    for name in ("a", "b"):
        before = store.get(ObjectRef("Run", "n", name))
        assert not await play._advance(
            ObjectRef("Run", "n", name), (1, "uid-p"), "Scheduled", lambda *_: {"phase": "X"}
        )
        assert store.get(ObjectRef("Run", "n", name)) == before


async def test_nothing_is_kept_of_a_run_that_is_over(store: EmbeddedStore, time: VirtualTime) -> None:
    """Neither of one that succeeded nor of one that was deleted on its way."""
    playing = Playing(store, time)
    playing.load(run("a", "Scheduled", lasts="1s"), run("b", "Scheduled", lasts="1s"))
    await time.run_for(1)
    await store.delete(ObjectRef("Run", "n", "b"))
    await time.run_for(1)
    assert playing.play._lives == {}
    await playing.stop()


async def test_a_deleted_run_is_forgotten(playing: Playing, time: VirtualTime) -> None:
    """A new Run of the name is another one: the old one's time is not its own."""
    playing.load(run("a", "Scheduled"))
    await time.run_for(0.9)
    await playing.store.delete(ObjectRef("Run", "n", "a"))
    playing.store.load([run("a", "Scheduled")])
    await time.run_for(0.9)
    assert playing.status("a")["phase"] == "Scheduled"
    await time.run_for(0.1)
    assert playing.status("a")["phase"] == "Running"


async def test_a_write_of_somebody_else_in_between_is_kept(playing: Playing, time: VirtualTime) -> None:
    """A message written while the Run is on its way does not stop it and is not lost."""
    playing.load(run("a", "Scheduled"))
    await time.run_for(0.5)
    await rewrite(playing, "a", message="theirs")
    await time.run_for(0.5)
    assert (playing.status("a")["phase"], playing.status("a")["message"]) == ("Running", "theirs")


async def test_history_too_short_to_follow() -> None:
    """Play that misses events lists again and misses no Run."""
    time, store = VirtualTime(), EmbeddedStore(history=4)
    playing = Playing(store, time)
    playing.load()
    await time.settle()
    store.load(run(f"r{index}", "Scheduled") for index in range(20))
    await time.run_for(1)
    assert {playing.status(f"r{index}")["phase"] for index in range(20)} == {"Running"}
    await playing.stop()


@pytest.mark.parametrize(
    ("stamp", "want"),
    [
        pytest.param("2025-12-31T23:59:45Z", BEAT, id="15-s-old"),
        pytest.param("2025-12-31T23:59:44.999Z", "2025-12-31T23:59:44.999Z", id="older"),
        pytest.param("2026-01-01T00:00:30Z", BEAT, id="30-s-ahead"),
        pytest.param("2026-01-01T00:00:30.001Z", "2026-01-01T00:00:30.001Z", id="further-ahead"),
        pytest.param(None, None, id="none"),
        pytest.param("soon", "soon", id="unparsable"),
    ],
)
async def test_only_fresh_pods_have_heartbeats(
    playing: Playing, time: VirtualTime, stamp: str | None, want: str | None
) -> None:
    """What was stale at the start stays as it was."""
    playing.load(pod("p", stamp))
    await time.run_for(7)
    assert playing.heartbeat("p") == want


async def test_a_heartbeat_every_5_s(playing: Playing, time: VirtualTime) -> None:
    """The first at once, so that a heartbeat of 14 s does not run out; nothing but the stamp changes."""
    playing.load(pod("p", "2025-12-31T23:59:46Z", ready="False"))
    async with following(playing.store, "Pod", playing.store.version) as follower:
        await time.run_for(11)
        events = await follower.take(3)
    assert [event.type for event in events] == [EventType.MODIFIED] * 3
    assert playing.status("p", "Pod") == pod("p", "2026-01-01T00:00:10Z", ready="False")["status"]


async def test_a_pod_that_goes_takes_its_heartbeat_with_it(playing: Playing, time: VirtualTime) -> None:
    """One of the same name is another Pod; the others go on."""
    playing.load(pod("p", "2026-01-01T00:00:00Z"), pod("q", "2026-01-01T00:00:00Z"))
    await time.run_for(1)
    await playing.store.delete(ObjectRef("Pod", "n", "p"))
    playing.store.load([pod("p", "2026-01-01T00:00:00Z")])
    await time.run_for(4)
    assert (playing.heartbeat("p"), playing.heartbeat("q")) == ("2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z")


async def rewrite(playing: Playing, name: str, **status: Any) -> None:
    """Patch the status of a Run as somebody else would."""
    ref = ObjectRef("Run", "n", name)
    version = int(playing.store.get(ref)["metadata"]["resourceVersion"])
    await playing.store.patch_status(ref, status, version=version)
