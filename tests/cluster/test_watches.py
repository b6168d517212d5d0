"""Watches that break: nothing is lost, nothing is doubled, and the metrics say how old the view is."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgspec
import pytest

from berth_server.kube.cluster import KubernetesStore
from tests.cluster.api import JSON, Api, admin, path_of
from tests.cluster.berth import Berth, serving, until
from tests.cluster.kruntimes import add_pod, beating, in_parallel, run_manifest, succeed
from tests.cluster.observer import replayed
from tests.cluster.processes import Cluster
from tests.cluster.proxy import Exchange, Proxy, answering, breaking_objects, passing_broken_objects, proxying

pytestmark = pytest.mark.cluster

AGE = "berth_watch_last_event_age_seconds"
RESTARTS = "berth_watch_restarts_total"
SLOTS = 100
DEPTH = 2000
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TERM = {"topologyKey": "kruntimes.io/runtime-pod"}


@dataclass(frozen=True)
class World:
    """Room for a hundred Runs on four Pods. `since`: a version before the first Run."""

    cluster: Cluster
    api: Api
    proxy: Proxy
    namespace: str
    pods: list[JSON]
    since: int

    async def create(self, *names: str) -> None:
        """Create Runs."""
        await in_parallel(self.api.create(run_manifest(self.namespace, name)) for name in names)

    async def check(self, berth: Berth, want: int) -> None:
        """All Runs are placed once, within capacity at every version, and Berth's view is the API server's."""
        await until(lambda: berth.scheduled >= want, f"{want} Runs are scheduled")
        await berth.quiet()
        observer = replayed(self.cluster, self.since, *self.pods)
        for namespace in {each.resource.metadata.namespace for each in observer.events if each.resource is not None}:
            if namespace != self.namespace:
                observer.forget(namespace)
        assigned = observer.judge()
        assert len(assigned) == want
        assert max(assigned.values()) == 1
        assert berth.scheduled == want
        assert berth.metric("berth_assumed") == 0
        await self.same(berth)

    async def same(self, berth: Berth) -> None:
        """What Berth believes of every Run comes to be what the API server has."""
        listing = await self.api.send("GET", path_of("Run", self.namespace))
        want = {
            (each["metadata"]["uid"], int(each["metadata"]["resourceVersion"])): each["status"].get(
                "assignedPodUID", ""
            )
            for each in listing["items"]
        }

        def believed() -> dict[tuple[str, int], str]:
            items = berth.core.state.items.values()
            return {(each.uid, each.version): each.assigned_uid for each in items if each.namespace == self.namespace}

        await until(lambda: believed() == want, "the view is the API server's")


@asynccontextmanager
async def world(cluster: Cluster) -> AsyncIterator[World]:
    """Make one."""
    async with admin(cluster) as api, proxying(cluster) as proxy:
        namespace, since = await api.new_namespace(), cluster.revision()
        pods = [await add_pod(api, namespace, f"p{index}", {"runs": SLOTS // 4}) for index in range(4)]
        async with beating(api, pods):
            yield World(cluster, api, proxy, namespace, pods, since)
        await api.clear(namespace)


@asynccontextmanager
async def watching(cluster: Cluster) -> AsyncIterator[tuple[World, Berth]]:
    """Serve through the proxy, with two Runs placed and their watch open."""
    async with world(cluster) as here, serving(cluster.kubeconfig(server=here.proxy.url)) as berth:
        await here.create("a", "b")
        await until(lambda: berth.scheduled == 2, "both are placed")
        yield here, berth


def restarts(berth: Berth, cause: str) -> int:
    """Return how often the watch of Runs was opened anew for that cause."""
    return int(berth.metric(RESTARTS, resource="runs", cause=cause))


def runs_watches(proxy: Proxy) -> list[Exchange]:
    """Return the watches of Runs that are open."""
    return [each for each in proxy.watches if each.request.is_watch_of("runs")]


def runs_watch(proxy: Proxy) -> Exchange:
    """Return the one watch of Runs that is open."""
    (found,) = runs_watches(proxy)
    return found


async def test_a_watch_that_is_cut(shared_cluster: Cluster) -> None:
    """It goes on from where it was, without a list; what happened meanwhile is told."""
    async with watching(shared_cluster) as (here, berth):
        for round_ in range(3):
            runs_watch(here.proxy).reset()
            await here.create(f"c{round_}")
            await until(lambda: restarts(berth, "error") == round_ + 1, "the watch is opened anew")  # noqa: B023
            await until(lambda: berth.scheduled == 3 + round_, "the new Run is placed")  # noqa: B023
        await here.check(berth, 5)
        assert restarts(berth, "gone") == 0


async def test_a_watch_that_goes_silent(shared_cluster: Cluster) -> None:
    """The age rises while nothing comes; a watch that is silent for too long is given up, and the age falls."""
    async with watching(shared_cluster) as (here, berth):
        store = berth.core.store
        assert isinstance(store, KubernetesStore)
        # The watch that is open keeps the time it was opened with: the next one is the one to go silent.
        store._informers["Run"]._silence = 3.0
        old = runs_watch(here.proxy)
        old.reset()
        await until(lambda: old not in (found := runs_watches(here.proxy)) and bool(found), "the watch is opened anew")
        runs_watch(here.proxy).silent = True
        await here.create("c")
        await until(lambda: berth.metric(AGE, resource="runs") > 2.5, "the age rises")
        assert berth.scheduled == 2
        await until(lambda: berth.metric(AGE, resource="runs") < 1.0, "the age falls")
        assert restarts(berth, "error") == 2
        await here.check(berth, 3)


@pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 422, 429, 500, 503, 504])
async def test_an_error_event(shared_cluster: Cluster, code: int) -> None:
    """Whatever it says but 410: the watch goes on from where it was, after a while."""
    async with watching(shared_cluster) as (here, berth):
        status = {"kind": "Status", "code": code, "message": "injected", "metadata": {}}
        here.proxy.on(
            lambda request: request.is_watch_of("runs"), answering(200, {"type": "ERROR", "object": status}), times=2
        )
        runs_watch(here.proxy).reset()
        await here.create("c")
        await here.check(berth, 3)
        assert restarts(berth, "error") == 3
        assert restarts(berth, "gone") == 0


@pytest.mark.parametrize("code", [401, 403, 429, 500, 503])
async def test_a_watch_that_is_refused(shared_cluster: Cluster, code: int) -> None:
    """A code in place of a stream: it is tried again, not before Retry-After, and says so once."""
    async with watching(shared_cluster) as (here, berth):
        refusal = answering(code, {"kind": "Status", "code": code, "message": "injected"}, retry_after="1")
        here.proxy.on(lambda request: request.is_watch_of("runs"), refusal, times=3)
        runs_watch(here.proxy).reset()
        await here.create("c")
        await here.check(berth, 3)
        assert len([line for line, _ in berth.log.lines if "injected" in line]) == 1
        assert restarts(berth, "gone") == 0


GONE = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version: 1 (2)"}


@pytest.mark.parametrize(
    ("code", "body"),
    [
        pytest.param(200, {"type": "ERROR", "object": GONE}, id="in the stream"),
        pytest.param(410, GONE, id="as a status"),
    ],
)
async def test_gone(shared_cluster: Cluster, code: int, body: JSON) -> None:
    """The version is too old: a list is compared with what is held, by UID. Changes meanwhile are not lost."""
    async with watching(shared_cluster) as (here, berth):
        release = asyncio.Event()

        async def gone(exchange: Exchange) -> None:
            await release.wait()
            await answering(code, body)(exchange)

        here.proxy.on(lambda request: request.is_watch_of("runs"), gone)
        a, b = [await here.api.get("Run", here.namespace, name) for name in ("a", "b")]
        runs_watch(here.proxy).reset()
        await until(lambda: bool(here.proxy.seen), "the watch is opened anew")
        await succeed(here.api, a)
        await here.api.send("DELETE", path_of("Run", here.namespace, "b"))
        await here.create("b", "c")
        release.set()
        await until(lambda: b["metadata"]["uid"] not in berth.core.state.items, "the old b is gone")
        await here.check(berth, 4)
        assert restarts(berth, "gone") == 1


async def test_a_run_nested_too_deeply(shared_cluster: Cluster) -> None:
    """What one tenant may write keeps nobody else waiting: not by a watch, and not by the list at a start."""
    async with watching(shared_cluster) as (here, berth):
        raw = run_manifest(
            here.namespace, "deep", affinity={"runAffinity": {REQUIRED: [{**TERM, "labelSelector": {}}]}}
        )
        nested = b'{"matchLabels":' * DEPTH + b"{}" + b"}" * DEPTH
        body = msgspec.json.encode(raw).replace(b'"labelSelector":{}', b'"labelSelector":' + nested)
        answer = await here.api.connection.request("POST", path_of("Run", here.namespace), body=body)
        assert answer.code == 201
        view = berth.core.ingest.views["Run"]
        await until(lambda: view.undecodable == 1, "the deep one is told of")
        await here.create("c")
        await until(lambda: berth.scheduled == 3, "c is placed as a and b were")
        async with serving(shared_cluster.kubeconfig(), driven=False) as another:
            assert another.core.ingest.views["Run"].undecodable == 1
            assert len(another.core.state.items) == len(berth.core.state.items)
        await here.api.send("DELETE", path_of("Run", here.namespace, "deep"))
        await until(lambda: not view.undecodable, "the deep one is gone")


async def test_objects_that_cannot_be_decoded(shared_cluster: Cluster) -> None:
    """In a watch and in a list: what is gone is gone, with its room, and what is there stays until it is well again."""
    async with watching(shared_cluster) as (here, berth):
        await here.create("c", "d")
        await until(lambda: berth.scheduled == 4, "all are placed")
        await berth.quiet()
        a, b, c, d = [await here.api.get("Run", here.namespace, name) for name in "abcd"]
        view, items = berth.core.ingest.views["Run"], berth.core.state.items
        runs_watch(here.proxy).rewrite = breaking_objects
        await here.api.send("DELETE", path_of("Run", here.namespace, "a"))
        await until(lambda: a["metadata"]["uid"] not in items, "a is gone")
        await here.api.send("DELETE", path_of("Run", here.namespace, "b"))
        await here.create("b")
        await until(lambda: view.undecodable == 1, "the new b is told of")
        assert b["metadata"]["uid"] not in items
        release = asyncio.Event()

        async def gone(exchange: Exchange) -> None:
            await release.wait()
            await answering(410, GONE)(exchange)

        here.proxy.on(lambda request: request.is_watch_of("runs"), gone)
        here.proxy.on(lambda request: request.is_list_of("runs"), passing_broken_objects)
        runs_watch(here.proxy).reset()
        await until(lambda: bool(here.proxy.seen), "the watch is opened anew")
        await here.api.send("DELETE", path_of("Run", here.namespace, "d"))
        release.set()
        await until(lambda: d["metadata"]["uid"] not in items, "d is gone by a list of what can't be decoded")
        assert c["metadata"]["uid"] in items
        assert {uid for uid, item in items.items() if item.namespace == here.namespace} == {c["metadata"]["uid"]}
        new = await here.api.get("Run", here.namespace, "b")
        await succeed(here.api, c)
        await here.api.update(new | {"spec": new["spec"] | {"timeout": "9m"}})
        await here.check(berth, 5)


async def load(here: World, count: int) -> None:
    """Create Runs one after the other, whatever the API server does meanwhile."""
    for index in range(count):
        while True:
            try:
                await here.create(f"load{index}")
            except Exception as error:  # noqa: BLE001 -- away, starting, or it had landed
                if "already exists" in str(error):
                    break
                await asyncio.sleep(0.1)
            else:
                break


@pytest.mark.slow
async def test_the_server_is_killed_under_load(new_cluster: Callable[[], Cluster]) -> None:
    """Twice, in the middle of binds. All Runs are placed once, and the age of the view rises and falls."""
    cluster = new_cluster()
    async with world(cluster) as here, serving(cluster.kubeconfig()) as berth:
        loading = asyncio.create_task(load(here, SLOTS - 20))
        for placed in (15, 50):
            await until(lambda: berth.scheduled >= placed, f"{placed} Runs are placed")  # noqa: B023
            cluster.apiserver.kill()
            await until(lambda: berth.metric(AGE, resource="runs") > 1.0, "the age rises")
            cluster.apiserver.start()
            await asyncio.to_thread(cluster.wait_ready)
            await until(lambda: berth.metric(AGE, resource="runs") < 1.0, "the age falls")
        await loading
        await here.check(berth, SLOTS - 20)


@pytest.mark.slow
async def test_history_is_compacted_while_the_server_is_away(new_cluster: Callable[[], Cluster]) -> None:
    """The version to resume from is gone after the restart: a list finds what changed meanwhile."""
    cluster = new_cluster()
    async with world(cluster) as here, serving(cluster.kubeconfig()) as berth:
        await here.create("a", "b")
        await until(lambda: berth.scheduled == 2, "both are placed")
        await berth.quiet()
        await here.same(berth)
        cluster.apiserver.kill()
        cluster.compact()
        cluster.apiserver.start()
        await asyncio.to_thread(cluster.wait_ready)
        await here.create(*(f"c{index}" for index in range(20)))
        await until(lambda: berth.scheduled == 22, "all are placed")
        await berth.quiet()
        await here.same(berth)
        assert restarts(berth, "gone") >= 1
        assert berth.metric("berth_assumed") == 0
        assert berth.metric("berth_overcommitted_candidates") == 0
