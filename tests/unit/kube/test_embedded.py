"""The embedded store: the contract of every store, and what only this one promises."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from berth_server.kube.embedded import EmbeddedStore
from berth_server.objects.decode import version_of
from berth_server.objects.resources import Run
from berth_server.placement.ports import (
    ConflictError,
    GoneError,
    NotFoundError,
    ObjectRef,
    RefusedError,
    Store,
)
from tests.contract.store_contract import StoreContract, Subject, following, ref_of, told, version
from tests.listing import listed

HISTORY = 8
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def run(name: str, **fields: Any) -> dict[str, Any]:
    """A Run's manifest."""
    return {"kind": "Run", "metadata": {"name": name, "namespace": "n"}, "spec": {"runtime": "python"}, **fields}


@pytest.fixture
def store() -> EmbeddedStore:
    """A store with a short history."""
    return EmbeddedStore(history=HISTORY, now=lambda: NEW_YEAR)


class TestContract(StoreContract):
    """The suite that a real API server passes, too."""

    @pytest.fixture
    def subject(self, store: EmbeddedStore) -> Subject:
        """A fresh store, whose history is forgotten by writing more than it keeps."""

        async def forget_history() -> None:
            for index in range(HISTORY):
                await store.create(run(f"filler-{index}"))

        return Subject(store, "n", forget_history)


def test_implements_the_protocol(store: EmbeddedStore) -> None:
    """It can stand wherever a Store is asked for."""
    as_store: Store = store
    assert as_store is store


async def test_load_keeps_objects_whole(store: EmbeddedStore) -> None:
    """A dump keeps uid, creation time and status; versions are given anew from 1 in the order of loading."""
    metadata = {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "977", "creationTimestamp": "x"}
    store.load([run("b"), run("a", metadata=metadata, status={"phase": "Succeeded"})])
    listing = await listed(store, "Run")
    assert [version_of(one) for one in listing.resources] == [2, 1]
    first = listing.resources[0]
    assert isinstance(first, Run)
    assert first.status is not None
    assert (first.metadata.uid, first.metadata.creation_timestamp, first.status.phase) == ("u", "x", "Succeeded")
    assert listing.resources[1].metadata.creation_timestamp == "2026-01-01T00:00:00Z"
    assert store.version == listing.version == 2


async def test_nobody_can_change_a_stored_object_in_place(store: EmbeddedStore) -> None:
    """Neither what was handed in nor what was handed out is the object itself."""
    raw = run("a")
    created = await store.create(raw)
    raw["spec"]["runtime"] = created["spec"]["runtime"] = "changed"
    assert store.get(ref_of(created))["spec"] == {"runtime": "python"}


async def test_a_listing_names_what_cannot_be_decoded(store: EmbeddedStore) -> None:
    """One broken object does not hide the others, in a list or in a watch."""
    await store.create(run("a"))
    await store.create(run("b", metadata={"name": "b", "namespace": "n", "labels": {"x": 1}}))
    listing = await listed(store, "Run")
    want = "Run n/b: Expected `str`, got `int` - at `$.metadata.labels[...]`"
    assert [one.metadata.name for one in listing.resources] == ["a"]
    assert [found.fault for found in listing.undecodable] == [want]
    async with following(store, "Run", 0) as follower:
        events = await follower.take(2)
    assert (events[1].resource, [events[1].undecodable]) == (None, listing.undecodable)


async def test_a_listing_in_pages(store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """All pages show one version of the store, whatever is written between them."""
    monkeypatch.setattr("berth_server.kube.embedded.PAGE", 2)
    a = await store.create(run("a"))
    for name in "bcde":
        await store.create(run(name))
    pages: list[tuple[str, int, bool, bool]] = []
    async for page in store.list("Run"):
        names = "".join(each.metadata.name for each in page.resources)
        pages.append((names, page.version, page.first, page.last))
        if page.first:
            await store.delete(ref_of(a))
            await store.create(run("cc"))
    assert pages == [("ab", 5, True, False), ("cd", 5, False, False), ("e", 5, False, True)]


async def test_a_listing_of_nothing(store: EmbeddedStore) -> None:
    """It is one page."""
    (page,) = [page async for page in store.list("Run")]
    assert (page.resources, page.first, page.last) == ([], True, True)


async def test_a_uid_names_one_object(store: EmbeddedStore) -> None:
    """Another uid is NotFound even at the newest version; no uid means whichever has the name."""
    created = await store.create(run("a"))
    with pytest.raises(NotFoundError, match="not other"):
        await store.patch_status(ObjectRef("Run", "n", "a", "other"), {"phase": "X"}, version=version(created))
    await store.patch_status(ObjectRef("Run", "n", "a"), {"phase": "X"}, version=version(created))
    with pytest.raises(ConflictError, match="not other"):
        await store.update(run("a", metadata={"name": "a", "namespace": "n", "uid": "other"}))


async def test_an_update_without_a_version_is_unconditional(store: EmbeddedStore) -> None:
    """Loaders and tests need not read before they write; what was not changed keeps its version."""
    created = await store.create(run("a"))
    changed = await store.update(run("a", spec={"runtime": "node"}))
    same = await store.update(run("a", spec={"runtime": "node"}))
    assert (changed["metadata"]["generation"], changed["metadata"]["uid"]) == (2, created["metadata"]["uid"])
    assert same == changed


async def test_a_status_that_cannot_be_decoded_is_refused(store: EmbeddedStore) -> None:
    """A bug of ours must not break an object for all readers: nothing is written."""
    created = await store.create(run("a"))
    with pytest.raises(RefusedError, match=r"\$\.status\.phase") as caught:
        await store.patch_status(ref_of(created), {"phase": 7}, version=version(created))
    assert caught.value.code == 422
    assert store.get(ref_of(created)) == created


async def test_kinds_without_a_status_subresource(store: EmbeddedStore) -> None:
    """Their status is a field like any other, and patch_status does not know it."""
    workload = {"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}, "status": {"x": 1}}
    created = await store.create(workload)
    assert created["status"] == {"x": 1}
    with pytest.raises(NotFoundError, match="no status subresource"):
        await store.patch_status(ref_of(created), {"x": 2}, version=version(created))


async def test_equality_is_that_of_json(store: EmbeddedStore) -> None:
    """True is not 1: such a patch is a change. The order of keys is not one."""
    created = await store.create(run("a"))
    first = await store.patch_status(ref_of(created), {"x": True, "c": [{"a": 1, "b": 2}]}, version=version(created))
    same = await store.patch_status(ref_of(created), {"c": [{"b": 2, "a": 1}]}, version=version_of(first))
    changed = await store.patch_status(ref_of(created), {"x": 1}, version=version_of(first))
    assert version_of(same) == version_of(first) < version_of(changed)


async def test_a_slow_watch_is_told_that_it_missed_events(store: EmbeddedStore) -> None:
    """One that falls further behind than the history gets GoneError once, then ends; nothing is skipped silently."""
    watch = store.watch("Run", 0)
    await store.create(run("first"))
    assert (await anext(watch)).version == 1
    for index in range(HISTORY + 1):
        await store.create(run(f"r{index}"))
    with pytest.raises(GoneError, match="behind"):
        await anext(watch)
    with pytest.raises(StopAsyncIteration):
        await anext(watch)


async def test_a_watch_may_be_as_slow_as_the_history_is_long(store: EmbeddedStore) -> None:
    """Up to the bound nothing is lost."""
    watch = store.watch("Run", 0)
    for index in range(HISTORY):
        await store.create(run(f"r{index}"))
    assert [(await anext(watch)).version for _ in range(HISTORY)] == list(range(1, HISTORY + 1))


async def test_a_busy_kind_does_not_shorten_the_history_of_another(store: EmbeddedStore) -> None:
    """Heartbeats of Pods must not make the watches of Runs too old."""
    await store.create(run("a"))
    for index in range(HISTORY * 2):
        await store.create({"kind": "Pod", "metadata": {"name": f"p{index}", "namespace": "n"}})
    async with following(store, "Run", 0) as follower:
        assert told(await follower.take(1)) == [("ADDED", "a")]


async def test_a_version_from_another_store_is_gone(store: EmbeddedStore) -> None:
    """A version that was never given cannot be watched from."""
    with pytest.raises(GoneError, match="newer"):
        await anext(store.watch("Run", 1))


async def test_closing_ends_a_wait(store: EmbeddedStore) -> None:
    """Another task may close a watch that waits; it ends as if exhausted, and closing again does nothing."""
    watch = store.watch("Run", 0)

    async def collect() -> list[str]:
        return [event.type.value async for event in watch]

    collecting = asyncio.create_task(collect())
    await asyncio.sleep(0)
    await store.create(run("a"))
    await watch.aclose()
    await watch.aclose()
    async with asyncio.timeout(5):
        assert await collecting == ["ADDED"]


async def test_a_cancelled_wait_loses_nothing(store: EmbeddedStore) -> None:
    """The next event after a cancelled wait is the one that was waited for."""
    watch = store.watch("Run", 0)
    waiting = asyncio.ensure_future(anext(watch))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await store.create(run("a"))
    assert (await anext(watch)).version == 1


async def test_a_backlog_lets_other_tasks_run() -> None:
    """A long history is read without keeping the loop from everybody else."""
    store = EmbeddedStore()
    store.load(run(f"r{index}") for index in range(1000))
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    watch = store.watch("Run", 0)
    for _ in range(1000):
        await anext(watch)
    task.cancel()
    assert turns >= 10
