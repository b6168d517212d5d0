"""Berth and 2,000 Runs on a real API server: all placed, none twice, no Pod over its capacity at any version."""

import pytest

from tests.cluster.api import admin
from tests.cluster.berth import serving
from tests.cluster.kruntimes import beating
from tests.cluster.observer import observing, until_phase
from tests.cluster.processes import Cluster
from tests.cluster.rate import RUNS, TENANTS, bare_rate, create_pods, create_runs, placing_rate

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(600)]


async def test_two_thousand_runs(shared_cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """All are placed; a witness finds CAP and ONE at every version; the metrics say the same; nothing is left over."""
    async with admin(shared_cluster) as api, observing(shared_cluster) as observer:
        namespaces = [await api.new_namespace() for _ in range(TENANTS)]
        pods = await create_pods(api, namespaces)
        observer.knows(*pods)
        bare = await api.new_namespace()
        async with beating(api, pods):
            # All of them before Berth starts or after it has ended: it would have something to say about them.
            before = await bare_rate(shared_cluster, await create_runs(api, [bare], RUNS // 2))
            await create_runs(api, namespaces, RUNS)
            async with serving(shared_cluster.kubeconfig(), driven=False) as berth:
                rate = await placing_rate(berth)
                await until_phase(observer, "Scheduled", RUNS + RUNS // 2)
                await berth.quiet()
                observer.forget(bare)
                assigned = observer.judge()
                assert len(assigned) == RUNS
                assert max(assigned.values()) == 1
                assert berth.scheduled == len(assigned)
                assert berth.metric("berth_assumed") == 0
                assert berth.metric("berth_inflight_events") == 0
                assert berth.metric("berth_overcommitted_candidates") == 0
            after = await bare_rate(shared_cluster, await create_runs(api, [bare], RUNS // 2))
        for namespace in (*namespaces, bare):
            await api.clear(namespace)
    share = rate / ((before + after) / 2)
    with capsys.disabled():
        print(f"\n{RUNS} Runs: {rate:.0f}/s, bare loop {before:.0f}/s and {after:.0f}/s, share {share:.0%} (goal 90%)")
