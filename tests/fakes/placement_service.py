"""A placement service that answers what it was told to, and remembers what it was asked."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from berth_server.placement import answers, questions
from berth_server.placement.questions import CandidateRef

EVALUATED_AT = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)


def make_snapshot(**changes: Any) -> answers.SnapshotInfo:
    """Build a snapshot of generation 7."""
    snapshot = answers.SnapshotInfo(
        instance="berth-0", generation=7, pool_epoch="e1", evaluated_at=EVALUATED_AT, view_age=0.25
    )
    return replace(snapshot, **changes)


def make_diagnosis(feasible: int = 1) -> answers.Diagnosis:
    """Build the verdict on three candidates."""
    reasons = [
        answers.ReasonCount("RuntimePodAvailability", "InsufficientCapacity", 3 - feasible, "gpu: 1 short", make_pod(2))
    ]
    message = "" if feasible else "0/3 runtime pods: 3 InsufficientCapacity"
    return answers.Diagnosis(considered=3, feasible=feasible, reasons=reasons, message=message)


def make_pod(number: int) -> CandidateRef:
    """Build a reference to the Runtime Pod of that number."""
    return CandidateRef(f"py-{number}", f"uid-{number}")


def make_scored(number: int, total: int = 150) -> answers.ScoredCandidate:
    """Build a candidate with the scores of two plugins."""
    scores = [
        answers.PluginScore("PreferredRunAffinity", raw=5, normalized=100, weight=1),
        answers.PluginScore("LeastLoaded", raw=333_333, normalized=total - 100, weight=1),
    ]
    return answers.ScoredCandidate(make_pod(number), total, scores)


def make_reservation(**changes: Any) -> answers.ReservationInfo:
    """Build a held reservation of the Run `train`."""
    reservation = answers.ReservationInfo(
        id="7d2a4e5e-2f5c-4a0e-9b53-1f4f5f0f8a11",
        namespace="default",
        name="train",
        uid="run-uid",
        candidate=make_pod(1),
        requests={"runs": 1, "gpu": 2},
        state=answers.ReservationState.HELD,
        held_until=EVALUATED_AT,
        owner="unix",
        created_at=EVALUATED_AT,
    )
    return replace(reservation, **changes)


POOL = answers.PoolRef("default", "py")


@dataclass
class FakeService:
    """Implements ports.Service and ports.Inspection.

    `asked` holds the questions in order; `failure` is raised instead of an answer; while `gate` is not set, calls wait.
    """

    asked: list[Any] = field(default_factory=list)
    failure: Exception | None = None
    gate: asyncio.Event | None = None
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    result: answers.PlanResult = field(default_factory=lambda: answers.Fits(make_pod(1)))

    async def filter(self, question: questions.FilterQuestion) -> answers.FilterAnswer:
        """Answer one feasible and one rejected candidate."""
        await self._meet(question)
        full = answers.Rejection("RuntimePodAvailability", "InsufficientCapacity", "gpu: needs 2, free 1")
        rows = [answers.FilterRow(make_pod(1)), answers.FilterRow(make_pod(2), [full])]
        return answers.FilterAnswer(make_snapshot(), POOL, make_diagnosis(), rows, "more")

    async def score(self, question: questions.ScoreQuestion) -> answers.ScoreAnswer:
        """Answer a scored candidate and a rejected one."""
        await self._meet(question)
        full = answers.Rejection("RuntimePodAvailability", "InsufficientCapacity", "gpu: needs 2, free 1")
        rows = [make_scored(1), answers.ScoredCandidate(make_pod(2), rejection=full)]
        return answers.ScoreAnswer(make_snapshot(), POOL, make_diagnosis(), make_pod(1), rows, ["nobody"])

    async def plan(self, question: questions.PlanQuestion) -> answers.PlanAnswer:
        """Answer `result`."""
        await self._meet(question)
        return answers.PlanAnswer(make_snapshot(), POOL, make_diagnosis(), self.result, [make_scored(1)])

    async def list_runs(
        self, *, namespace: str, phases: Sequence[str], page_size: int, page_token: str
    ) -> answers.Page[answers.RunSummary]:
        """Answer one assigned Run."""
        await self._meet((namespace, tuple(phases), page_size, page_token))
        run = answers.RunSummary(
            namespace="default",
            name="train",
            uid="run-uid",
            version=42,
            runtime="py",
            phase="Running",
            assigned=make_pod(1),
            requests={"runs": 1},
            attempt=1,
            created_at=EVALUATED_AT,
            message="",
            fault="",
        )
        return answers.Page([run], "more")

    async def list_candidates(
        self, *, namespace: str, runtime: str, page_size: int, page_token: str
    ) -> answers.Page[answers.CandidateSummary]:
        """Answer one available and one stale Runtime Pod."""
        await self._meet((namespace, runtime, page_size, page_token))
        amounts = {"runs": (2, 1), "gpu": (2**63, 2**63)}
        ready = answers.CandidateSummary("default", make_pod(1), "py", "", amounts, "node-1", overcommitted=False)
        stale = replace(ready, candidate=make_pod(2), reason="StaleHeartbeat", overcommitted=True)
        return answers.Page([ready, stale])

    async def server_info(self) -> answers.ServerInfo:
        """Answer a synced leader."""
        await self._meet(None)
        plugin = answers.PluginInfo("LeastLoaded", 1, {"unbound": "ignore"})
        return answers.ServerInfo(
            version="0.1.0",
            instance="berth-0",
            leader=True,
            synced=True,
            generation=7,
            views=[answers.ViewInfo("Run", 3, 42, 0.5, 1)],
            profiles=[answers.ProfileInfo("default", [plugin])],
            counts={"runs": 3},
            as_of=EVALUATED_AT,
        )

    async def _meet(self, question: Any) -> None:
        self.asked.append(question)
        self.entered.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.failure is not None:
            raise self.failure
