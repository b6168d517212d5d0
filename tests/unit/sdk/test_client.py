"""The async client against a real server."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest

import berth
from berth.v1 import resources_pb2
from berth_server.placement.failures import PlacementError, Reason
from berth_server.placement.questions import (
    Consistency,
    ExistingRun,
    FilterQuestion,
    HypotheticalRun,
    PlanQuestion,
    ReadOptions,
    ScoreQuestion,
)
from tests.unit.rpc.rig import Rig, serving, socket_in

NEXT, MINE = "t", "o"
TRAIN = ExistingRun("default", "train")


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """A server on a unix socket."""
    async with serving(socket_in(tmp_path)) as running:
        yield running


@pytest.fixture
async def client(rig: Rig) -> AsyncIterator[berth.Client]:
    """A client of that server."""
    async with berth.Client(str(rig.server.addresses[0])) as opened:
        yield opened


@pytest.mark.parametrize(
    ("item", "want"),
    [
        pytest.param("train", TRAIN, id="name"),
        pytest.param("a/train", ExistingRun("a", "train"), id="namespace-and-name"),
        pytest.param(
            berth.run("train", namespace="a", uid="u", min_resource_version="7"),
            ExistingRun("a", "train", "u", 7),
            id="run",
        ),
        pytest.param(
            {"kind": "Run", "spec": {"runtime": "py", "resources": {"requests": {"gpu": 2}}}},
            HypotheticalRun(
                b'{"spec":{"resources":{"requests":{"gpu":2}},"runtime":"py"},"kind":"Run",'
                b'"metadata":{"name":"hypothetical","namespace":"default"}}'
            ),
            id="manifest",
        ),
        pytest.param(resources_pb2.Item(run=resources_pb2.ObjectKey(name="train")), TRAIN, id="message"),
    ],
)
async def test_takes_an_item_in_every_form(rig: Rig, client: berth.Client, item: Any, want: Any) -> None:
    """An item is a name, a manifest, or what the helpers make."""
    await client.score(item)
    asked = rig.service.asked[0].item
    if isinstance(want, HypotheticalRun):
        assert _json(asked.manifest) == _json(want.manifest)
    else:
        assert asked == want


async def test_filter_passes_everything_on(rig: Rig, client: berth.Client) -> None:
    """Every argument of Filter reaches the service."""
    answer = await client.filter(
        "train",
        all_plugins=True,
        page_size=5,
        page_token=NEXT,
        profile="p",
        max_view_age=1.5,
        any_replica=True,
    )
    assert [row.candidate.name for row in answer.rows] == ["py-1", "py-2"]
    want = ReadOptions("p", 1.5, Consistency.ANY)
    assert _asked(rig) == FilterQuestion(TRAIN, want, all_plugins=True, page_size=5, page_token=NEXT)


async def test_score_passes_everything_on(rig: Rig, client: berth.Client) -> None:
    """Every argument of Score reaches the service; the leader is asked unless any replica will do."""
    answer = await client.score("train", limit=5, candidates=["py-1"], profile="p", max_view_age=0)
    assert answer.chosen.name == "py-1"
    assert _asked(rig) == ScoreQuestion(TRAIN, ReadOptions("p", 0.0, Consistency.LEADER), 5, ("py-1",))


async def test_plan_passes_everything_on(rig: Rig, client: berth.Client) -> None:
    """Every argument of Plan reaches the service."""
    answer = await client.plan(
        berth.run("train", uid="u"),
        hold=1.25,
        attempt_id="a",
        owner_token=MINE,
        profile="p",
        max_view_age=2,
    )
    assert answer.fits.candidate.name == "py-1"
    want = PlanQuestion(ExistingRun("default", "train", "u"), "unix/o", ReadOptions("p", 2.0), 1.25, attempt_id="a")
    assert _asked(rig) == want
    await client.plan("train", dry_run=True)
    assert _asked(rig) == PlanQuestion(TRAIN, "unix", dry_run=True)


async def test_lists_pass_everything_on(rig: Rig, client: berth.Client) -> None:
    """Every argument of the lists reaches the service."""
    runs = await client.list_runs(namespace="a", phases=["Running"], page_size=5, page_token=NEXT)
    assert [run.key.name for run in runs.runs] == ["train"]
    assert rig.service.asked[-1] == ("a", ("Running",), 5, NEXT)
    candidates = await client.list_candidates(namespace="a", runtime="py", page_size=5, page_token=NEXT)
    assert [row.candidate.name for row in candidates.candidates] == ["py-1", "py-2"]
    assert rig.service.asked[-1] == ("a", "py", 5, NEXT)
    assert (await client.server_info()).version == "0.1.0"


async def test_an_error_carries_what_the_server_said(rig: Rig, client: berth.Client) -> None:
    """Reason, sentence, values and time to wait, without touching a message."""
    rig.service.failure = PlacementError(
        Reason.STALE_TARGET, "The candidate is gone: plan again.", metadata={"name": "py-1"}, retry_after=0.5
    )
    with pytest.raises(berth.BerthError) as caught:
        await client.score("train")
    error = caught.value
    assert str(error) == error.message == "The candidate is gone: plan again."
    assert error.code is grpc.StatusCode.ABORTED
    assert error.reason == "STALE_TARGET"
    assert error.metadata == {"name": "py-1"}
    assert error.retry_after == 0.5
    assert error.violations == ()


async def test_an_error_carries_every_wrong_field(client: berth.Client) -> None:
    """What the server finds wrong is there as a list."""
    with pytest.raises(berth.BerthError) as caught:
        await client.score("", limit=-1)
    assert caught.value.reason == "INVALID_FIELD"
    assert caught.value.violations == (
        berth.FieldViolation("item.run.name", "must not be empty"),
        berth.FieldViolation("limit", "must be 0 to 1000, not -1"),
    )


async def test_retries_a_server_that_is_not_ready(rig: Rig, client: berth.Client) -> None:
    """UNAVAILABLE is tried four times in all; the caller sees the last answer."""
    rig.service.failure = PlacementError(Reason.NOT_SYNCED, "Not in sync yet.")
    with pytest.raises(berth.BerthError) as caught:
        await client.score("train")
    assert caught.value.reason == "NOT_SYNCED"
    assert len(rig.service.asked) == 4


@pytest.mark.parametrize("reason", [Reason.OVER_LIMIT, Reason.STALE_ITEM, Reason.UNKNOWN_ITEM, Reason.INTERNAL])
async def test_retries_nothing_else(rig: Rig, client: berth.Client, reason: Reason) -> None:
    """Every other code says something about the request or the state."""
    rig.service.failure = PlacementError(reason, "No.")
    with pytest.raises(berth.BerthError):
        await client.score("train")
    assert len(rig.service.asked) == 1


async def test_a_server_that_is_not_there_is_a_berth_error(tmp_path: Path) -> None:
    """No connection has a code and a sentence, and no reason of the server's."""
    async with berth.Client(f"unix://{tmp_path}/nobody.sock", deadline=5) as client:
        with pytest.raises(berth.BerthError) as caught:
            await client.server_info()
    assert caught.value.code is grpc.StatusCode.UNAVAILABLE
    assert caught.value.reason == ""
    assert str(caught.value)


async def test_a_call_ends_by_its_deadline(rig: Rig) -> None:
    """The client's deadline is sent, and the server hears that the call is over."""
    rig.service.gate = asyncio.Event()
    async with berth.Client(str(rig.server.addresses[0]), deadline=0.05) as client:
        with pytest.raises(berth.BerthError) as caught:
            await client.score("train")
    assert caught.value.code is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_a_client_is_open_inside_its_block_only(rig: Rig) -> None:
    """A client that is not open says how to open it; closing twice is nothing."""
    client = berth.Client(str(rig.server.addresses[0]))
    with pytest.raises(RuntimeError, match="async with"):
        await client.server_info()
    async with client:
        await client.server_info()
        await client.close()
        await client.close()
        with pytest.raises(RuntimeError, match="async with"):
            await client.server_info()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param({"spec": {"n": 10**400}}, id="a-number-beyond-doubles"),
        pytest.param({"spec": {"n": {1, 2}}}, id="a-set"),
    ],
)
def test_refuses_a_manifest_that_json_cannot_hold(content: dict[str, Any]) -> None:
    """What can't be sent is refused where it is written."""
    with pytest.raises(ValueError, match=r"."):
        berth.manifest(content)


def _asked(rig: Rig) -> Any:
    """The last question without its deadline, which depends on when it was asked."""
    question = rig.service.asked[-1]
    assert question.read.deadline is not None
    return replace(question, read=replace(question.read, deadline=None))


def _json(data: bytes) -> Any:
    return json.loads(data)
