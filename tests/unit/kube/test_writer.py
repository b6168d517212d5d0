"""The writer: one write an item at a time, on top of the last one, and nothing kept longer than it is needed."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from berth_server.kube.embedded import EmbeddedStore
from berth_server.kube.writer import MAX_MESSAGE_BYTES, StatusWriter
from berth_server.placement.ports import ConflictError, NotFoundError, ObjectRef, OutcomeUnknownError, Outgoing
from tests.builders import run
from tests.fakes.gated_store import GatedStore

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STAMP = "2026-01-01T00:00:00Z"
FOREIGN = {"type": "Foreign", "status": "True", "theirs": [1, {"deep": None}]}
REF = ObjectRef("Run", "ns", "a", "ns/a")
FOREVER = 2**63


class Desk:
    """A writer, the API behind it, and the Run that it writes."""

    def __init__(self, *, held: bool = False, conditions: list[dict[str, Any]] | None = None) -> None:
        self.api = EmbeddedStore(now=lambda: NOW)
        self.api.load([run("a", status={"conditions": conditions or [FOREIGN]})])
        self.store = GatedStore(self.api, held=held)
        self.writer = StatusWriter(self.store, lambda: NOW)
        self.item = Outgoing(REF, 1, json.dumps(conditions or [FOREIGN]).encode())

    @property
    def status(self) -> dict[str, Any]:
        """The status as the API has it."""
        status: dict[str, Any] = self.api.get(REF)["status"]
        return status

    async def begin(self, call: Any) -> Any:
        """Begin a write, up to where it waits."""
        task = asyncio.create_task(call)
        for _ in range(5):
            await asyncio.sleep(0)
        return task

    async def answer(self) -> None:
        """Let the one write that is out end."""
        (write,) = self.store.writes
        await self.store.answer(write)
        for _ in range(5):
            await asyncio.sleep(0)


async def test_assign() -> None:
    """Phase, candidate, condition Scheduled; the message goes, foreign conditions stay as they were."""
    desk = Desk()
    assert await desk.writer.assign(desk.item, "p1", "uid-p1") == 2
    scheduled = {"type": "Scheduled", "status": "True", "reason": "Assigned", "message": "assigned to p1"}
    assert desk.status == {
        "phase": "Scheduled",
        "assignedPod": "p1",
        "assignedPodUID": "uid-p1",
        "message": "",
        "conditions": [FOREIGN, {**scheduled, "lastTransitionTime": STAMP}],
    }


async def test_finish() -> None:
    """Phase, message, completionTime, Running=False and Completed=False with the reason."""
    desk = Desk()
    await desk.writer.finish(desk.item, "Failed", "InvalidResources", "gpu: -1 is negative")
    status = desk.status
    assert (status["phase"], status["message"], status["completionTime"]) == ("Failed", "gpu: -1 is negative", STAMP)
    ours = {each["type"]: (each["status"], each["reason"]) for each in status["conditions"][1:]}
    assert status["conditions"][0] == FOREIGN
    assert ours == {"Running": ("False", "InvalidResources"), "Completed": ("False", "InvalidResources")}


async def test_note() -> None:
    """The message alone, cut to its bound at a character; conditions are not in the patch."""
    desk = Desk()
    await desk.writer.note(desk.item, "é" * MAX_MESSAGE_BYTES)
    assert desk.status["message"] == "é" * (MAX_MESSAGE_BYTES // 2)
    assert desk.status["conditions"] == [FOREIGN]


async def test_next_write_stands_on_the_last() -> None:
    """While the view lags, a write carries the version and the conditions that the last one made."""
    desk = Desk()
    await desk.writer.note(desk.item, "waits")
    await desk.writer.assign(desk.item, "p1", "uid-p1")
    assert await desk.writer.finish(desk.item, "Failed", "Lost", "") == 4
    assert [each["type"] for each in desk.status["conditions"]] == ["Foreign", "Scheduled", "Running", "Completed"]


async def test_view_ahead_of_the_last_write() -> None:
    """What the view has seen since is newer than what the last write returned."""
    desk = Desk()
    await desk.writer.note(desk.item, "waits")
    await desk.api.patch_status(REF, {"conditions": []}, version=2)
    desk.writer.seen("ns/a", 3)
    assert await desk.writer.assign(Outgoing(REF, 3, b"[]"), "p1", "uid-p1") == 4
    assert [each["type"] for each in desk.status["conditions"]] == ["Scheduled"]


async def test_somebody_else_wrote() -> None:
    """The version that it carries is old: ConflictError, and nothing is written."""
    desk = Desk()
    await desk.api.patch_status(REF, {"conditions": []}, version=1)
    with pytest.raises(ConflictError):
        await desk.writer.assign(desk.item, "p1", "uid-p1")
    assert desk.status["phase"] == "Pending"


async def test_recreated() -> None:
    """A Run of the same name with another UID is not written."""
    desk = Desk()
    with pytest.raises(NotFoundError):
        await desk.writer.assign(Outgoing(ObjectRef("Run", "ns", "a", "before"), 1, b""), "p1", "uid-p1")


async def test_one_at_a_time() -> None:
    """Writes of one Run queue; a message that waits gives way to any other, one that is out does not."""
    desk = Desk(held=True)
    first = await desk.begin(desk.writer.note(desk.item, "first"))
    waiting = await desk.begin(desk.writer.note(desk.item, "second"))
    bind = await desk.begin(desk.writer.assign(desk.item, "p1", "uid-p1"))
    await desk.answer()
    await desk.answer()
    assert (await first, await waiting, await bind) == (2, None, 3)
    assert not desk.store.writes


async def test_items_do_not_wait_for_each_other() -> None:
    """Only writes of the same item queue."""
    desk = Desk(held=True)
    desk.api.load([run("b")])
    other = Outgoing(ObjectRef("Run", "ns", "b", "ns/b"), 2, b"")
    tasks = [await desk.begin(desk.writer.note(item, "waits")) for item in (desk.item, other)]
    assert len(desk.store.writes) == 2
    for write in list(desk.store.writes):
        await desk.store.answer(write)
    assert await asyncio.gather(*tasks) == [3, 4]


@pytest.mark.parametrize("failure", [OutcomeUnknownError("timed out"), TypeError("bug")])
async def test_unknown_says_what_it_carried(failure: Exception) -> None:
    """Whatever goes wrong once a write is on its way leaves its outcome open, at the version that it carried."""
    desk = Desk()
    await desk.writer.note(desk.item, "waits")
    desk.store.failures = [failure]
    with pytest.raises(OutcomeUnknownError) as caught:
        await desk.writer.assign(desk.item, "p1", "uid-p1")
    assert caught.value.version == 2


async def test_bug_before_anything_was_sent() -> None:
    """Conditions that are no conditions: the exception is no outcome, and nothing was written."""
    desk = Desk()
    with pytest.raises(AttributeError):
        await desk.writer.assign(Outgoing(REF, 1, b"[1]"), "p1", "uid-p1")
    assert desk.store.written == 0
    assert not desk.writer._slots


class TestNothingIsKept:
    """What is remembered of an item goes when the view has caught up, in whatever order things happen."""

    @pytest.mark.parametrize("seen", [2, FOREVER])
    @pytest.mark.parametrize("early", [True, False])
    async def test_after_a_write(self, seen: int, early: bool) -> None:  # noqa: FBT001
        """The echo, or the deletion, may come before the answer or after it."""
        desk = Desk(held=True)
        task = await desk.begin(desk.writer.assign(desk.item, "p1", "uid-p1"))
        if early:
            desk.writer.seen("ns/a", seen)
        await desk.answer()
        await task
        if not early:
            assert desk.writer._slots
            desk.writer.seen("ns/a", seen)
        assert not desk.writer._slots

    async def test_after_a_refusal(self) -> None:
        """Nothing was written, so nothing is kept."""
        desk = Desk()
        desk.store.failures = [ConflictError("changed")]
        with pytest.raises(ConflictError):
            await desk.writer.assign(desk.item, "p1", "uid-p1")
        assert not desk.writer._slots

    async def test_between_writes(self) -> None:
        """The view catches up with the first while the second waits for its turn: a third keeps to the same line."""
        desk = Desk(held=True)
        first = await desk.begin(desk.writer.note(desk.item, "waits"))
        second = await desk.begin(desk.writer.assign(desk.item, "p1", "uid-p1"))
        (write,) = desk.store.writes
        await desk.store.land(write)
        desk.writer.seen("ns/a", 2)
        third = await desk.begin(desk.writer.finish(desk.item, "Failed", "Lost", ""))
        for want_version in (1, 2, 3):
            (write,) = desk.store.writes
            assert write.version == want_version
            await desk.answer()
        assert (await first, await second, await third) == (2, 3, 4)
