"""The corpus of verdicts, asked of an API server anew: a newer one shows which of its answers moved."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from berth.workload.gates import ALL
from berth_server.placement.ports import KubeError
from tests.cluster.api import admin
from tests.cluster.binaries import Binaries
from tests.cluster.corpus import Question, moved
from tests.cluster.gates import workload_flags
from tests.cluster.processes import Cluster
from tests.vectors.workload_api import CorpusCase, all_cases

pytestmark = pytest.mark.cluster

Gates = frozenset[str]


class GatedCluster:
    """An API server that is restarted, on the same data, whenever other gates are asked for."""

    def __init__(self, cluster: Cluster, gates: Gates) -> None:
        self._cluster = cluster
        self._gates = gates

    def under(self, gates: Gates) -> Cluster:
        """Return the cluster, serving with exactly these gates open."""
        if gates != self._gates:
            self._cluster.restart(workload_flags(gates))
            self._gates = gates
        return self._cluster


@pytest.fixture(scope="module")
def gated(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatedCluster]:
    """A cluster of this module's own: it makes PriorityClasses that are the default of every Pod."""
    cluster = Cluster(binaries, tmp_path_factory.mktemp("corpus"), flags=workload_flags(ALL))
    try:
        cluster.start()
        yield GatedCluster(cluster, ALL)
    finally:
        cluster.stop()


def gates_of(case: CorpusCase) -> Gates:
    """Return the gates that are open when the request of a case is sent."""
    return frozenset(case.data.get("gates", ALL))


def old_gates_of(case: CorpusCase) -> Gates:
    """Return the gates that were open when the object that it starts from was stored."""
    return frozenset(case.data["old_gates"]) if "old_gates" in case.data else gates_of(case)


def by_gates_and_file() -> list[Any]:
    """One test for the cases of a file under the same gates; all gates come first, so that each set is opened once."""
    found: dict[tuple[Gates, str], list[CorpusCase]] = {}
    for case in all_cases():
        found.setdefault((gates_of(case), case.file), []).append(case)
    ordered = sorted(found.items(), key=lambda item: item[0][0] != ALL)
    return [pytest.param(cases, id=f"{file}-{shown(gates)}") for (gates, file), cases in ordered]


def shown(gates: Gates) -> str:
    """Name a set of gates."""
    return "+".join(["all", *sorted(gates - ALL)] if gates >= ALL else sorted(gates)) or "none"


async def replayed(cases: list[CorpusCase], gated: GatedCluster) -> list[str]:
    """Ask the server every case, all under the same gates; return what moved."""
    gates = gates_of(cases[0])
    found: list[str] = []
    questions: dict[str, Question] = {}
    for old_gates in {old_gates_of(case) for case in cases} - {gates}:
        async with admin(gated.under(old_gates)) as api:
            for case in cases:
                with named(case, found):
                    if old_gates_of(case) == old_gates:
                        questions[case.id] = await Question.begun(case, api)
    async with admin(gated.under(gates)) as api:
        for case in cases:
            with named(case, found):
                if old_gates_of(case) == gates:
                    questions[case.id] = await Question.begun(case, api)
                if case.id in questions:
                    found += moved(case, await questions[case.id].ask(api))
    return found


@contextmanager
def named(case: CorpusCase, found: list[str]) -> Iterator[None]:
    """Note what the server refuses before the request itself, and go on to the next case."""
    try:
        yield
    except KubeError as error:
        found.append(f"  {case.id} ({case.data['behaviour']})\n    could not be asked: {error}")


async def test_what_moved_is_named(gated: GatedCluster) -> None:
    """A replay that finds nothing whatever the server says would pass for ever."""
    case = next(case for case in all_cases() if case.data["id"] == "priority-podgroup-default")
    other = replace(case, data={**case.data, "code": 200, "stored": {"spec.priority": 51}})
    want_lines = (
        "  priority-podgroup-default-v1beta1 (PodGroup: a global default class: name, value and policy are filled in)\n"
        "    code: want 200, got 201\n"
        "    stored: want {'spec.priority': 51}, got {'spec.priority': 50}"
    )
    assert await replayed([other], gated) == [want_lines]


@pytest.mark.parametrize("cases", by_gates_and_file())
async def test_the_server_still_answers_so(cases: list[CorpusCase], gated: GatedCluster) -> None:
    """Verdict, code, reason, every cause's field and reason, and the stored values."""
    found = await replayed(cases, gated)
    assert not found, "\n".join([f"{len(found)} of {len(cases)} verdicts moved:", *found])
