"""The client's writing calls against a whole server in process: plan, reserve, renew, release, bind, and the lists."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import berth
from berth.v1 import placement_service_pb2 as placement_pb
from berth.v1 import resources_pb2 as pb
from berth_server.app.wiring import build_parts
from berth_server.config.addresses import UnixAddress
from berth_server.config.file import Config
from berth_server.config.settings import Settings
from berth_server.rpc.server import build_server
from tests.fakes.log import NullLog

QUICKSTART = Path(__file__).parents[3] / "examples" / "quickstart.yaml"
WAITING = "data/etl-orders"
OWNER = "me"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[berth.Client]:
    """A client of a server on the quickstart cluster whose driver is off."""
    parts = build_parts(Settings(cluster=str(QUICKSTART), driver="off"), Config(), NullLog())
    address = UnixAddress(tmp_path / "b.sock")
    server = build_server([address], parts.service, parts.service.inspector, parts.metrics)
    await server.start()
    await parts.service.start()
    await server.set_synced(synced=True)
    async with berth.Client(str(address)) as opened:
        yield opened
    await server.stop(0)
    await parts.service.stop()


async def item_of(client: berth.Client, name: str) -> pb.Item:
    """Return the Run of that `namespace/name`, with its uid."""
    namespace, _, short = name.partition("/")
    listed = await client.list_runs(namespace=namespace, page_size=1000)
    return next(pb.Item(run=row.key) for row in listed.runs if row.key.name == short)


async def test_plan_then_bind_assigns_where_the_plan_said(client: berth.Client) -> None:
    """A reservation is listed while it is held, and binding it assigns the Run there, once."""
    item = await item_of(client, WAITING)
    planned = await client.plan(item, hold=60, owner_token=OWNER)
    assert planned.WhichOneof("result") == "reserved"
    listed = await client.list_reservations(namespace="data")
    assert [row.id for row in listed.reservations] == [planned.reserved.id]
    bound = await client.bind(planned.reserved.id, owner_token=OWNER)
    assert bound.outcome == placement_pb.BIND_OUTCOME_BOUND
    again = await client.bind((item, planned.reserved.candidate), owner_token=OWNER)
    assert again.outcome == placement_pb.BIND_OUTCOME_ALREADY_BOUND
    assert again.candidate == planned.reserved.candidate


async def test_reserve_renews_and_release_gives_back(client: berth.Client) -> None:
    """Reserving the same again is the same reservation; releasing it twice finds nothing the second time."""
    item = await item_of(client, WAITING)
    chosen = (await client.score(item)).chosen
    first = await client.reserve(item, chosen, hold=10)
    second = await client.reserve(item, chosen, hold=60)
    assert second.reservation.id == first.reservation.id
    assert second.reservation.held_until.ToDatetime() > first.reservation.held_until.ToDatetime()
    assert await client.release(first.reservation.id)
    assert not await client.release(first.reservation.id)


async def test_a_batch_plans_one_after_another(client: berth.Client) -> None:
    """A plan that fails stands in its place, and the others are decided."""
    good = placement_pb.PlanRequest(item=await item_of(client, WAITING))
    bad = placement_pb.PlanRequest(item=berth.run("nobody", uid="u"))
    batch = await client.plan_batch([good, bad, good])
    assert [each.WhichOneof("result") for each in batch.results] == ["response", "failure", "response"]
    assert batch.results[1].failure.reason == "UNKNOWN_ITEM"
    assert batch.results[2].response.WhichOneof("result") == "already_reserved"


async def test_pending_lists_what_waits(client: berth.Client) -> None:
    """With nobody driving, every Pending Run of the quickstart waits in the queue, next first."""
    listed = await client.list_pending(namespace="web", page_size=1000)
    positions = [row.position for row in listed.items]
    assert positions == sorted(positions)
    assert {row.item.name for row in listed.items} >= {"render-news", "cdn-warmer"}
