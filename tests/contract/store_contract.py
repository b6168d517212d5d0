"""What `placement.ports.Store` promises, as tests that the embedded store and a real API server must both pass.

An implementation gets its suite by a subclass whose name starts with Test and which has a fixture `subject`. The tests
use only what both can do, so writes that are not in the Protocol go through `WritableStore`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec
import pytest

from berth_server.objects.decode import version_of
from berth_server.objects.resources import Pod, Resource, Run
from berth_server.placement.ports import (
    ConflictError,
    EventType,
    GoneError,
    NotFoundError,
    ObjectRef,
    Store,
    WatchEvent,
)
from tests.listing import listed

JSON = dict[str, Any]
PATIENCE = 10.0
"""Seconds after which a test that waits for an event has failed; never waited for otherwise."""


class WritableStore(Store, Protocol):
    """A store with the writes of the other components: POST, PUT, DELETE."""

    async def create(self, raw: JSON) -> JSON:
        """POST an object; return it as stored."""
        ...

    async def update(self, raw: JSON) -> JSON:
        """PUT an object; return it as stored."""
        ...

    async def delete(self, ref: ObjectRef) -> None:
        """DELETE an object."""
        ...


@dataclass(frozen=True)
class Subject:
    """A store under test, a namespace of the test's own, and a way to make the store forget its history up to now."""

    store: WritableStore
    namespace: str
    forget_history: Callable[[], Awaitable[None]]

    def run(self, name: str, **spec: Any) -> JSON:
        """Return the manifest of a Run."""
        metadata = {"name": name, "namespace": self.namespace, "labels": {"app": "etl"}}
        spec = {"runtime": "python", **spec}
        return {"apiVersion": "kruntimes.io/v1alpha1", "kind": "Run", "metadata": metadata, "spec": spec}

    def pod(self, name: str) -> JSON:
        """Return the manifest of a Pod with fields that Berth does not read."""
        metadata = {"name": name, "namespace": self.namespace, "labels": {"runtime": "python"}}
        spec = {"containers": [{"name": "runtimed", "image": "runtimed:1"}]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def ref_of(raw: JSON) -> ObjectRef:
    """Return the reference to an object as stored, with its uid."""
    metadata = raw["metadata"]
    return ObjectRef(raw["kind"], metadata["namespace"], metadata["name"], metadata["uid"])


def version(raw: JSON) -> int:
    """Return the version of an object as stored."""
    return int(raw["metadata"]["resourceVersion"])


def at(raw: JSON, newest: int) -> JSON:
    """Return the object with that version, as its writer would have read it."""
    return {**raw, "metadata": {**raw["metadata"], "resourceVersion": str(newest)}}


async def stored(subject: Subject, kind: str, name: str) -> Resource | None:
    """Return the object of that name as a list gives it."""
    listing = await listed(subject.store, kind)
    own = (one for one in listing.resources if one.metadata.namespace == subject.namespace)
    return next((one for one in own if one.metadata.name == name), None)


class Follower:
    """Collects the events of one watch in a task of its own, as an informer does."""

    def __init__(self) -> None:
        self._events: asyncio.Queue[WatchEvent | Exception] = asyncio.Queue()

    async def follow(self, events: AsyncIterator[WatchEvent]) -> None:
        """Collect until cancelled; an error is kept for the reader."""
        try:
            async for event in events:
                if event.type is not EventType.BOOKMARK:
                    self._events.put_nowait(event)
        except GoneError as error:
            self._events.put_nowait(error)

    async def take(self, count: int) -> list[WatchEvent]:
        """Return the next events; raises what the watch raised."""
        taken = []
        async with asyncio.timeout(PATIENCE):
            for _ in range(count):
                event = await self._events.get()
                if isinstance(event, Exception):
                    raise event
                taken.append(event)
        return taken


@asynccontextmanager
async def following(store: Store, kind: str, since: int) -> AsyncIterator[Follower]:
    """Follow a kind; leaving cancels the watch and waits for its end."""
    follower = Follower()
    task = asyncio.create_task(follower.follow(store.watch(kind, since)))
    try:
        yield follower
    finally:
        task.cancel()
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(task, return_exceptions=True)


def told(events: list[WatchEvent]) -> list[tuple[str, str]]:
    """Type and name of each event."""
    return [(event.type.value, event.resource.metadata.name if event.resource else "") for event in events]


class StoreContract:
    """Versions, conflicts, the status subresource, watches."""

    async def test_every_write_has_a_higher_version(self, subject: Subject) -> None:
        """Versions grow over all objects, and the list is at least as new as what was written."""
        first = await subject.store.create(subject.run("a"))
        second = await subject.store.create(subject.run("b"))
        await subject.store.patch_status(ref_of(first), {"phase": "Pending"}, version=version(first))
        listing = await listed(subject.store, "Run")
        patched = await stored(subject, "Run", "a")
        assert patched is not None
        assert version(first) < version(second) < version_of(patched) <= listing.version

    async def test_a_new_object_gets_an_identity(self, subject: Subject) -> None:
        """The store gives uid, creation time, generation; one recreated under the same name is another object."""
        first = await subject.store.create(subject.run("a"))
        await subject.store.delete(ref_of(first))
        again = subject.run("a")
        second = await subject.store.create(
            {**again, "metadata": {**again["metadata"], "uid": first["metadata"]["uid"]}}
        )
        assert first["metadata"]["uid"] != second["metadata"]["uid"]
        assert first["metadata"]["generation"] == second["metadata"]["generation"] == 1
        assert first["metadata"]["creationTimestamp"]

    async def test_a_name_is_given_once(self, subject: Subject) -> None:
        """POST of a name that is there is a conflict and changes nothing."""
        first = await subject.store.create(subject.run("a"))
        with pytest.raises(ConflictError):
            await subject.store.create(subject.run("a", runtime="node"))
        left = await stored(subject, "Run", "a")
        assert left is not None
        assert version_of(left) == version(first)

    async def test_a_new_object_has_no_status(self, subject: Subject) -> None:
        """POST and PUT ignore a status that is a subresource."""
        created = await subject.store.create({**subject.run("a"), "status": {"phase": "Succeeded"}})
        await subject.store.update({**created, "status": {"phase": "Succeeded"}})
        run = await stored(subject, "Run", "a")
        assert isinstance(run, Run)
        assert run.status is None or not run.status.phase

    async def test_a_status_patch_merges(self, subject: Subject) -> None:
        """RFC 7386: null removes, what is not named stays, a list is replaced whole."""
        run = await subject.store.create(subject.run("a"))
        first = await subject.store.patch_status(
            ref_of(run),
            {"phase": "Pending", "message": "wait", "conditions": [{"type": "A", "status": "True"}]},
            version=version(run),
        )
        second = await subject.store.patch_status(
            ref_of(run), {"message": None, "conditions": [{"type": "B", "status": "True"}]}, version=version_of(first)
        )
        assert isinstance(second, Run)
        assert second.status is not None
        assert (second.status.phase, second.status.message) == ("Pending", None)
        assert [one["type"] for one in msgspec.json.decode(second.status.conditions)] == ["B"]

    async def test_a_status_patch_touches_nothing_else(self, subject: Subject) -> None:
        """Spec, labels and generation are as before."""
        run = await subject.store.create(subject.run("a"))
        patched = await subject.store.patch_status(ref_of(run), {"phase": "Pending"}, version=version(run))
        after = await subject.store.update(at(run, version_of(patched)))
        assert after["spec"] == run["spec"]
        assert after["metadata"]["labels"] == run["metadata"]["labels"]
        assert after["metadata"]["generation"] == 1

    async def test_foreign_conditions_survive(self, subject: Subject) -> None:
        """Conditions that were read as raw JSON can be written back as they are, with one more."""
        run = await subject.store.create(subject.run("a"))
        foreign = {"type": "Foreign", "status": "True", "reason": "Theirs", "message": "theirs"}
        first = await subject.store.patch_status(ref_of(run), {"conditions": [foreign]}, version=version(run))
        assert isinstance(first, Run)
        assert first.status is not None
        kept = msgspec.json.decode(first.status.conditions, type=list[msgspec.Raw])
        ours = {"type": "Scheduled", "status": "True", "reason": "Assigned", "message": ""}
        second = await subject.store.patch_status(ref_of(run), {"conditions": [*kept, ours]}, version=version_of(first))
        assert isinstance(second, Run)
        assert second.status is not None
        assert foreign.items() <= msgspec.json.decode(second.status.conditions)[0].items()

    async def test_a_stale_version_is_a_conflict(self, subject: Subject) -> None:
        """A write that carries any but the newest version changes nothing."""
        run = await subject.store.create(subject.run("a"))
        newest = await subject.store.patch_status(ref_of(run), {"phase": "Pending"}, version=version(run))
        for stale in (version(run), version_of(newest) + 1):
            with pytest.raises(ConflictError):
                await subject.store.patch_status(ref_of(run), {"phase": "Scheduled"}, version=stale)
        left = await stored(subject, "Run", "a")
        assert left == newest

    async def test_one_of_two_writers_wins(self, subject: Subject) -> None:
        """Of two writes at one version exactly one succeeds, and it is the one that is there."""
        run = await subject.store.create(subject.run("a"))
        outcomes = await asyncio.gather(
            *(
                subject.store.patch_status(
                    ref_of(run),
                    {"phase": "Scheduled", "assignedPod": name, "assignedPodUID": name},
                    version=version(run),
                )
                for name in ("p1", "p2")
            ),
            return_exceptions=True,
        )
        winners = [one for one in outcomes if isinstance(one, Run)]
        assert len(winners) == 1
        assert sum(isinstance(one, ConflictError) for one in outcomes) == 1
        assert await stored(subject, "Run", "a") == winners[0]

    async def test_a_patch_that_changes_nothing_moves_no_version(self, subject: Subject) -> None:
        """It succeeds, is no fence against late writes, and nobody is told."""
        run = await subject.store.create(subject.run("a"))
        first = await subject.store.patch_status(ref_of(run), {"phase": "Pending"}, version=version(run))
        async with following(subject.store, "Run", version_of(first)) as follower:
            again = await subject.store.patch_status(ref_of(run), {"phase": "Pending"}, version=version_of(first))
            await subject.store.create(subject.run("b"))
            assert told(await follower.take(1)) == [("ADDED", "b")]
        assert version_of(again) == version_of(first)

    async def test_an_update_leaves_the_status(self, subject: Subject) -> None:
        """PUT on the object changes spec and labels, and no status; the generation counts changes of the spec."""
        run = await subject.store.create(subject.run("a"))
        patched = await subject.store.patch_status(ref_of(run), {"phase": "Pending"}, version=version(run))
        new = {**run, "metadata": {**run["metadata"], "labels": {"app": "web"}}, "status": {"phase": "Failed"}}
        relabelled = await subject.store.update(at(new, version_of(patched)))
        changed = await subject.store.update({**relabelled, "spec": {**run["spec"], "cancelRequested": True}})
        after = await stored(subject, "Run", "a")
        assert isinstance(after, Run)
        assert after.status is not None
        assert (after.status.phase, after.metadata.labels) == ("Pending", {"app": "web"})
        assert (relabelled["metadata"]["generation"], changed["metadata"]["generation"]) == (1, 2)

    async def test_an_update_can_be_conditional(self, subject: Subject) -> None:
        """PUT with a version that is not the newest is a conflict."""
        run = await subject.store.create(subject.run("a"))
        await subject.store.patch_status(ref_of(run), {"phase": "Pending"}, version=version(run))
        with pytest.raises(ConflictError):
            await subject.store.update({**run, "spec": {"runtime": "node"}})

    async def test_what_is_not_there(self, subject: Subject) -> None:
        """A missing object is NotFound for every write; so is, for deletion, one that was deleted."""
        run = await subject.store.create(subject.run("a"))
        await subject.store.delete(ref_of(run))
        with pytest.raises(NotFoundError):
            await subject.store.patch_status(ref_of(run), {"phase": "Pending"}, version=version(run))
        with pytest.raises(NotFoundError):
            await subject.store.delete(ref_of(run))

    async def test_a_recreated_object_is_not_the_one_that_was_meant(self, subject: Subject) -> None:
        """A write meant for the object that had the name before never lands on the new one."""
        first = await subject.store.create(subject.run("a"))
        await subject.store.delete(ref_of(first))
        second = await subject.store.create(subject.run("a"))
        with pytest.raises((NotFoundError, ConflictError)):
            await subject.store.patch_status(ref_of(first), {"phase": "Scheduled"}, version=version(first))
        left = await stored(subject, "Run", "a")
        assert left is not None
        assert version_of(left) == version(second)

    async def test_what_berth_does_not_know_survives(self, subject: Subject) -> None:
        """Fields that no struct of ours names pass through a status patch and an update unchanged."""
        pod = await subject.store.create(subject.pod("p"))
        condition = {"type": "Ready", "status": "True", "message": "all containers are up"}
        patched = await subject.store.patch_status(
            ref_of(pod), {"phase": "Running", "hostIP": "10.0.0.1", "conditions": [condition]}, version=version(pod)
        )
        assert isinstance(patched, Pod)
        relabelled = {**pod, "metadata": {**pod["metadata"], "labels": {"runtime": "node"}}}
        after = await subject.store.update(at(relabelled, version_of(patched)))
        assert after["spec"] == pod["spec"]
        assert after["status"]["hostIP"] == "10.0.0.1"
        assert condition.items() <= after["status"]["conditions"][0].items()

    async def test_a_read_gives_one_object_as_it_is(self, subject: Subject) -> None:
        """It is what the last write made; a name that nobody has is not found."""
        run = await subject.store.create(subject.run("a"))
        patched = await subject.store.patch_status(ref_of(run), {"phase": "Pending"}, version=version(run))
        assert await subject.store.read(ref_of(run)) == patched
        await subject.store.delete(ref_of(run))
        with pytest.raises(NotFoundError):
            await subject.store.read(ref_of(run))

    async def test_a_watch_tells_all_that_happens_after_its_version(self, subject: Subject) -> None:
        """In order, with growing versions, also what happened before it began; a deletion carries the last state."""
        await subject.store.create(subject.run("before"))
        listing = await listed(subject.store, "Run")
        run = await subject.store.create(subject.run("a"))
        async with following(subject.store, "Run", listing.version) as follower:
            assert told(await follower.take(1)) == [("ADDED", "a")]
            await subject.store.patch_status(ref_of(run), {"phase": "Pending"}, version=version(run))
            await subject.store.create(subject.pod("of-another-kind"))
            await subject.store.delete(ref_of(run))
            events = await follower.take(2)
        assert told(events) == [("MODIFIED", "a"), ("DELETED", "a")]
        assert version(run) < events[0].version < events[1].version
        assert all(event.resource and version_of(event.resource) == event.version for event in events)
        assert isinstance(events[1].resource, Run)
        assert events[1].resource.status == events[0].resource.status  # type: ignore[union-attr]

    async def test_every_watch_gets_every_event(self, subject: Subject) -> None:
        """Watches from different versions at once do not take events from each other."""
        start = (await listed(subject.store, "Run")).version
        first = await subject.store.create(subject.run("a"))
        async with (
            following(subject.store, "Run", start) as early,
            following(subject.store, "Run", version(first)) as late,
            following(subject.store, "Run", start) as ended,
        ):
            await ended.take(1)
            await subject.store.create(subject.run("b"))
            assert told(await early.take(2)) == [("ADDED", "a"), ("ADDED", "b")]
            assert told(await late.take(1)) == [("ADDED", "b")]

    async def test_a_watch_has_an_age(self, subject: Subject) -> None:
        """It is told in seconds, and small while the watch of a store at hand works."""
        listing = await listed(subject.store, "Run")
        async with following(subject.store, "Run", listing.version) as follower:
            await subject.store.create(subject.run("a"))
            await follower.take(1)
            assert 0 <= subject.store.age("Run") < PATIENCE

    async def test_a_forgotten_version_is_gone(self, subject: Subject) -> None:
        """A watch from before the history kept must list again; one from the list that follows works."""
        start = (await listed(subject.store, "Run")).version
        await subject.store.create(subject.run("a"))
        await subject.forget_history()
        async with following(subject.store, "Run", start) as follower:
            with pytest.raises(GoneError):
                await follower.take(1)
        listing = await listed(subject.store, "Run")
        async with following(subject.store, "Run", listing.version) as follower:
            await subject.store.create(subject.run("b"))
            assert told(await follower.take(1)) == [("ADDED", "b")]
