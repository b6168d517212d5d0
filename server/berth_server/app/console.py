"""What `--show` prints for a person at a terminal: where everything is, who waits and why, and a line to paste.

It asks as any caller would and changes nothing.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from berth_server.app.wiring import Parts
from berth_server.config.addresses import ListenAddress, TcpAddress
from berth_server.placement import answers
from berth_server.placement.questions import ExistingRun, PlanQuestion

PERIOD_SECONDS: Final = 5.0
QUIET_SECONDS: Final = 0.05
PAGE: Final = 1000
READER: Final = "console"


class Console:
    """Prints tables. `driven`: keys are taken from the queue, else each Run is asked for by a dry run."""

    def __init__(self, parts: Parts, addresses: Sequence[ListenAddress]) -> None:
        self._parts = parts
        self._service = parts.service
        self._addresses = addresses

    async def run(self, *, driven: bool) -> None:
        """Print the whole picture once it is quiet, then, where the cluster lives, a line now and then."""
        if driven:
            await self._quiet()
        runs = await self._runs()
        print(f"\nBerth serves {self._parts.origin}\n")  # noqa: T201 -- this is what --show is for
        _table(("RUNTIME POD", "RUNS", "USE"), await self._placements(runs))
        _table(("RUN", "WHERE IT GOES, OR WHY NOT"), await self._decisions(runs, driven=driven))
        print(self._invitation(runs), flush=True)  # noqa: T201 -- see above
        while self._parts.play is not None:
            await asyncio.sleep(PERIOD_SECONDS)
            self._tick(await self._runs())

    async def _quiet(self) -> None:
        """Wait until nothing is left to be tried at once."""
        while True:
            counts = self._service.work.counts()
            if not counts["active"] and not counts["in_flight"] and not len(self._service.core.reservations):
                return
            await asyncio.sleep(QUIET_SECONDS)

    async def _runs(self) -> list[answers.RunSummary]:
        found: list[answers.RunSummary] = []
        token = ""
        while True:
            page = await self._service.inspector.list_runs(namespace="", phases=(), page_size=PAGE, page_token=token)
            found.extend(page.rows)
            token = page.next_page_token
            if not token:
                return found

    async def _placements(self, runs: list[answers.RunSummary]) -> list[tuple[str, str, str]]:
        page = await self._service.inspector.list_candidates(namespace="", runtime="", page_size=PAGE, page_token="")
        there: dict[tuple[str, str], list[str]] = {}
        for run in runs:
            if run.assigned is not None:
                there.setdefault((run.namespace, run.assigned.name), []).append(run.name)
        rows = []
        for candidate in page.rows:
            use = ", ".join(f"{name} {used}/{capacity}" for name, (capacity, used) in candidate.resources.items())
            names = ", ".join(there.get((candidate.namespace, candidate.candidate.name), ())) or "-"
            state = f"{use}  ({candidate.reason})" if candidate.reason else use
            rows.append((f"{candidate.namespace}/{candidate.candidate.name}", names, state))
        return rows

    async def _decisions(self, runs: list[answers.RunSummary], *, driven: bool) -> list[tuple[str, str]]:
        rows = []
        for run in runs:
            if run.phase in {"Pending", "Scheduled"}:
                said = await self._verdict(run) if run.phase == "Pending" else f"on {_name(run.assigned)}"
                rows.append((f"{run.namespace}/{run.name}", said))
            elif driven and run.phase in {"Failed", "Cancelled"}:
                rows.append((f"{run.namespace}/{run.name}", f"{run.phase}: {run.message}"))
        return rows

    async def _verdict(self, run: answers.RunSummary) -> str:
        question = PlanQuestion(ExistingRun(run.namespace, run.name, run.uid), READER, dry_run=True)
        answer = await self._service.plan(question)
        match answer.result:
            case answers.Fits(candidate=candidate, group=group):
                return f"would go to {candidate.name}" + (f", with its group {group}" if group else "")
            case answers.Unschedulable():
                return answer.diagnosis.message
            case answers.Ineligible(why=why, detail=detail):
                return f"{why.value}: {detail}"
            case answers.Invalid(violations=violations):
                return f"{violations[0].reason}: {violations[0].message}"
            case answers.AlreadyAssigned(candidate=candidate):
                return f"on {candidate.name}"
            case _:
                return ""

    def _invitation(self, runs: list[answers.RunSummary]) -> str:
        target = next((str(each) for each in self._addresses if isinstance(each, TcpAddress)), str(self._addresses[0]))
        waiting = next((run for run in runs if run.phase == "Pending" and not run.fault), runs[0])
        ask = f'{{"item": {{"run": {{"namespace": "{waiting.namespace}", "name": "{waiting.name}"}}}}}}'
        return (
            f"Ask why {waiting.namespace}/{waiting.name} waits, and what is best for it (Ctrl-C ends the server):\n\n"
            f"  grpcurl -plaintext -d '{ask}' {target} berth.v1.PlacementService/Score\n"
        )

    def _tick(self, runs: list[answers.RunSummary]) -> None:
        phases = Counter(run.phase for run in runs)
        listed = ", ".join(f"{count} {phase}" for phase, count in sorted(phases.items()))
        print(f"runs: {listed}", flush=True)  # noqa: T201 -- see above


def _name(candidate: object) -> str:
    return getattr(candidate, "name", "") or "?"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head) - 1)]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        print("  ".join([*cells, line[-1]]).rstrip())  # noqa: T201 -- see above
    print()  # noqa: T201 -- see above
