"""Assignments that go wrong on the way: each Run is assigned once, no Pod takes more than it has, nothing is left."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import pytest

from berth_server.kube import cluster as kube_cluster
from berth_server.state.reservations import State
from tests.cluster.api import JSON, Api, admin
from tests.cluster.berth import PATIENCE, Berth, serving, until
from tests.cluster.kruntimes import add_pod, beating, run_manifest
from tests.cluster.observer import replayed
from tests.cluster.processes import Cluster
from tests.cluster.proxy import (
    Exchange,
    Fault,
    Proxy,
    Request,
    answering,
    failing_after_it_landed,
    losing_the_answer,
    passing,
    proxying,
    resetting,
)

pytestmark = pytest.mark.cluster


@dataclass(frozen=True)
class World:
    """One slot on one Pod, and a proxy between Berth and the API server. `since`: a version before the first Run."""

    cluster: Cluster
    api: Api
    proxy: Proxy
    namespace: str
    pod: JSON
    since: int

    async def create(self, name: str) -> JSON:
        """Create a Run."""
        return await self.api.create(run_manifest(self.namespace, name))

    async def status(self, name: str) -> JSON:
        """Return the status of a Run as the API server has it."""
        status: JSON = (await self.api.get("Run", self.namespace, name)).get("status") or {}
        return status

    async def until_waits(self, berth: Berth, name: str) -> None:
        """Wait until Berth has found no room for a Run."""

        def waits() -> bool:
            shown = map(berth.service.work.shown, berth.core.queue.rows())
            rows = (row for row in shown if (row.namespace, row.name) == (self.namespace, name))
            return any(row.reasons == ("InsufficientCapacity",) for row in rows)

        await until(waits, f"{name} waits for room")

    def check(self, berth: Berth, want: int) -> None:
        """ONE and CAP at every version; so many were assigned, and as many are counted; nothing is left over."""
        observer = replayed(self.cluster, self.since, self.pod)
        for event in list(observer.events):
            assert event.resource is not None
            if event.resource.metadata.namespace != self.namespace:
                observer.forget(event.resource.metadata.namespace)
        assigned = observer.judge()
        assert len(assigned) == want
        assert max(assigned.values()) == 1
        assert berth.scheduled == want
        assert berth.metric("berth_assumed") == 0
        assert berth.metric("berth_inflight_events") == 0


@asynccontextmanager
async def world(cluster: Cluster) -> AsyncIterator[World]:
    """Make one."""
    async with admin(cluster) as api, proxying(cluster) as proxy:
        namespace, since = await api.new_namespace(), cluster.revision()
        pod = await add_pod(api, namespace, "p", {"runs": 1})
        async with beating(api, [pod]):
            yield World(cluster, api, proxy, namespace, pod, since)
        await api.clear(namespace)


def assignment(request: Request) -> bool:
    """Whether it assigns a Run."""
    return request.is_assignment


def fence(request: Request) -> bool:
    """Whether it settles one."""
    return request.is_fence


class Held:
    """A fault that withholds the last byte until it is released; the client gets no answer."""

    def __init__(self) -> None:
        self._reached = asyncio.Event()
        self._released = asyncio.Event()
        self._answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def __call__(self, exchange: Exchange) -> None:
        """See Fault."""
        await exchange.send(withheld=1)
        reading = asyncio.create_task(exchange.answer())
        self._reached.set()
        await self._released.wait()
        with suppress(OSError):
            await exchange.send_rest()
        self._answer.set_result(await reading)

    async def reached(self) -> None:
        """Wait until all but the last byte is with the server."""
        await asyncio.wait_for(self._reached.wait(), PATIENCE)

    async def release(self) -> int:
        """Send the last byte; return the code of the server's answer."""
        self._released.set()
        answer = await asyncio.wait_for(self._answer, PATIENCE)
        return int(answer.split(b" ", 2)[1])


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Berth waits half a second for an answer, and the server for long."""
    monkeypatch.setattr(kube_cluster, "CLIENT_TIMEOUT_SECONDS", 0.5)
    monkeypatch.setattr(kube_cluster, "SERVER_TIMEOUT_SECONDS", 60)


LANDED = [
    pytest.param(losing_the_answer, id="reset after the server acted"),
    pytest.param(failing_after_it_landed, id="500 that landed"),
]
NOT_LANDED = [
    pytest.param(resetting, id="reset"),
    pytest.param(answering(504, {"kind": "Status", "code": 504, "reason": "Timeout"}), id="504"),
    pytest.param(answering(500, "proxy error"), id="500"),
    pytest.param(answering(503, {"kind": "Status", "code": 503}, retry_after="1"), id="503"),
]


@pytest.mark.parametrize("fault", [*LANDED, *NOT_LANDED])
async def test_an_outcome_that_nobody_knows(shared_cluster: Cluster, fault: Fault) -> None:
    """Whether it landed or not: the Run is assigned once, and the only slot is never given twice."""
    async with world(shared_cluster) as here:
        here.proxy.on(assignment, fault)
        await here.create("a")
        async with serving(here.cluster.kubeconfig(server=here.proxy.url)) as berth:
            await until(lambda: berth.scheduled == 1, "the Run is counted as scheduled")
            await berth.quiet()
            await here.create("b")
            await here.until_waits(berth, "b")
            assert (await here.status("a"))["assignedPodUID"] == here.pod["metadata"]["uid"]
            here.check(berth, 1)
        assert len(here.proxy.seen) == 1


async def test_a_write_that_lands_late_is_kept_out(shared_cluster: Cluster, impatient: None) -> None:
    """Its last byte is held back: a read shows nothing; the fence takes the version; then it comes, and is refused."""
    async with world(shared_cluster) as here:
        held = Held()
        here.proxy.on(assignment, held)
        created = await here.create("a")
        async with serving(here.cluster.kubeconfig(server=here.proxy.url)) as berth:
            await held.reached()
            seen = await here.api.get("Run", here.namespace, "a")
            assert seen["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
            await until(lambda: berth.scheduled == 1, "the Run is placed by another write")
            assert await held.release() == 409
            await berth.quiet()
            here.check(berth, 1)


async def test_a_write_that_lands_before_the_fence(shared_cluster: Cluster, impatient: None) -> None:
    """While it is out a read shows "unassigned, same version" and the room stays taken; it lands, and is found."""
    async with world(shared_cluster) as here:
        held, fenced = Held(), Held()
        here.proxy.on(assignment, held)
        here.proxy.on(fence, fenced)
        created = await here.create("a")
        async with serving(here.cluster.kubeconfig(server=here.proxy.url)) as berth:
            await until(lambda: [each.state for each in berth.core.reservations] == [State.UNCONFIRMED], "it is lost")
            await fenced.reached()
            seen = await here.api.get("Run", here.namespace, "a")
            assert not seen.get("status", {}).get("assignedPodUID")
            assert seen["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
            await here.create("b")
            await here.until_waits(berth, "b")
            assert await held.release() == 200
            assert await fenced.release() == 409
            await until(lambda: berth.scheduled == 1, "the Run is counted as scheduled")
            await berth.quiet()
            assert (await here.status("a"))["phase"] == "Scheduled"
            here.check(berth, 1)


@pytest.mark.slow
async def test_the_server_kills_a_late_write(shared_cluster: Cluster) -> None:
    """Held back for longer than `?timeout`: the server answers 504, and nothing lands however late the rest comes."""
    async with world(shared_cluster) as here:
        held = Held()
        here.proxy.on(assignment, held)
        # No fence: what keeps the write out is the server alone.
        here.proxy.on(fence, resetting, times=3)
        await here.create("a")
        async with serving(here.cluster.kubeconfig(server=here.proxy.url)) as berth:
            await held.reached()
            await asyncio.sleep(kube_cluster.SERVER_TIMEOUT_SECONDS + 1)
            assert await held.release() == 504
            assert not (await here.status("a")).get("assignedPodUID")
            await until(lambda: berth.scheduled == 1, "the Run is placed by another write")
            await berth.quiet()
            here.check(berth, 1)


async def test_throttling_is_honoured(shared_cluster: Cluster) -> None:
    """After a 429 nothing was written, and no write goes out before the server's time is over."""
    async with world(shared_cluster) as here:
        sent: list[float] = []
        clock = asyncio.get_running_loop().time

        async def throttle(exchange: Exchange) -> None:
            sent.append(clock())
            await answering(429, {"kind": "Status", "code": 429}, retry_after="2")(exchange)

        async def note_time(exchange: Exchange) -> None:
            sent.append(clock())
            await passing(exchange)

        here.proxy.on(assignment, throttle)
        here.proxy.on(assignment, note_time)
        await here.create("a")
        async with serving(here.cluster.kubeconfig(server=here.proxy.url)) as berth:
            await until(lambda: berth.scheduled == 1, "the Run is placed")
            await berth.quiet()
            here.check(berth, 1)
        assert sent[1] - sent[0] >= 2.0


@pytest.mark.parametrize("code", [400, 401, 403, 405, 413, 415, 422])
async def test_a_refusal_gives_the_room_back(shared_cluster: Cluster, code: int) -> None:
    """It says for sure that nothing was written: no fence, the Run backs off and is placed."""
    async with world(shared_cluster) as here:
        # A request that was not authenticated is sent once more with fresh credentials.
        here.proxy.on(assignment, answering(code, {"kind": "Status", "code": code}), times=2 if code == 401 else 1)
        here.proxy.on(fence, passing)
        await here.create("a")
        async with serving(here.cluster.kubeconfig(server=here.proxy.url)) as berth:
            await until(lambda: berth.scheduled == 1, "the Run is placed")
            await berth.quiet()
            here.check(berth, 1)
        assert not [each for each in here.proxy.seen if each.is_fence]
