"""What `--show` prints for a person at a terminal: where everything is, who waits and why, and a line to paste.

It asks as any caller would and changes nothing.
"""

import asyncio
import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from berth_server.app.layout import WIDTH, amount, paragraph, some, table
from berth_server.app.wiring import Parts
from berth_server.config.addresses import ListenAddress, TcpAddress
from berth_server.placement import answers
from berth_server.placement.questions import ExistingRun, PlanQuestion

TICK_SECONDS: Final = 1.0
QUIET_SECONDS: Final = 0.05
QUIET_LIMIT: Final = 10.0
"""A busy cluster may never be quiet; then it is shown as it is."""
ROWS: Final = 60
PAGE: Final = 1000
READER: Final = "console"
_OVER: Final = frozenset({"Succeeded", "Failed", "Timeout", "Cancelled"})

Runs = Sequence[answers.RunSummary]


def say(line: str) -> None:
    """Print a line at once, also into a pipe."""
    print(line, flush=True)  # noqa: T201 -- this is what --show is for


class Console:
    """Prints through `out`. Start it once."""

    def __init__(self, parts: Parts, addresses: Sequence[ListenAddress], out: Callable[[str], None] = say) -> None:
        self._parts = parts
        self._service = parts.service
        self._addresses = addresses
        self._out = out

    async def run(self, *, driven: bool) -> None:
        """Print the whole picture once it is quiet, then, where the cluster lives, a line or two at each change.

        `driven`: keys are taken from the queue. If not, each waiting Run is told where it would go.
        """
        if driven:
            await self._quiet()
        runs = await self._runs()
        await self._picture(runs, driven=driven)
        while self._parts.play is not None:
            await asyncio.sleep(TICK_SECONDS)
            before, runs = runs, await self._runs()
            for line in news(before, runs, time.strftime("%H:%M:%S")):
                self._out(line)

    async def _quiet(self) -> None:
        """Wait until nothing is left to be tried at once."""
        with suppress(TimeoutError):
            async with asyncio.timeout(QUIET_LIMIT):
                while self._busy():  # noqa: ASYNC110 -- being quiet is no event of anybody
                    await asyncio.sleep(QUIET_SECONDS)

    def _busy(self) -> bool:
        counts = self._service.work.counts()
        return bool(counts["active"] or counts["in_flight"] or len(self._service.core.reservations))

    async def _runs(self) -> Runs:
        found: list[answers.RunSummary] = []
        token = ""
        while True:
            page = await self._service.inspector.list_runs(namespace="", phases=(), page_size=PAGE, page_token=token)
            found.extend(page.rows)
            token = page.next_page_token
            if not token:
                return found

    # --- the picture ----------------------------------------------------------------------------------------------

    async def _picture(self, runs: Runs, *, driven: bool) -> None:
        waiting = [run for run in runs if run.phase == "Pending"]
        self._out(f"\n{paragraph(f'Berth serves {self._parts.origin}')}\n")
        pods = await self._placements(runs)
        total = (await self._service.inspector.server_info()).counts["candidates"]
        self._table(("RUNTIME POD", "USE", "RUNS"), pods, left_out=total - len(pods))
        why = "WHY IT WAITS" if driven else "WHERE IT WOULD GO, OR WHY IT WAITS"
        rows = [(_key(run), await self._verdict(run)) for run in waiting[:ROWS]]
        self._table(("WAITING RUN", why), rows, left_out=len(waiting) - len(rows))
        failed = [(_key(run), run.message) for run in runs if run.phase == "Failed" and run.message]
        self._table(("FAILED RUN", "WHY"), failed[:ROWS], left_out=len(failed) - ROWS)
        if runs:
            self._out(self._invitation((waiting or runs)[0], waits=bool(waiting)))

    async def _placements(self, runs: Runs) -> list[tuple[str, str, Sequence[str] | str]]:
        page = await self._service.inspector.list_candidates(namespace="", runtime="", page_size=ROWS, page_token="")
        there: dict[tuple[str, str], list[str]] = {}
        for run in runs:
            if run.assigned is not None:
                there.setdefault((run.namespace, run.assigned.name), []).append(run.name)
        rows: list[tuple[str, str, Sequence[str] | str]] = []
        for pod in page.rows:
            names = there.get((pod.namespace, pod.candidate.name), [])
            unavailable = [f"({pod.reason})"] if pod.reason else []
            rows.append((f"{pod.namespace}/{pod.candidate.name}", _use(pod), [*unavailable, *names] or "-"))
        return rows

    async def _verdict(self, run: answers.RunSummary) -> str:
        question = PlanQuestion(ExistingRun(run.namespace, run.name, run.uid), READER, dry_run=True)
        answer = await self._service.plan(question)
        match answer.result:
            case answers.Fits(candidate=candidate, group=group):
                return f"would go to {candidate.name}" + (f", with its group {group}" if group else "")
            case answers.Unschedulable():
                return answer.diagnosis.message
            case answers.Ineligible(why=why, detail=detail, until=until):
                return f"{why.value}: {detail}" + (f" until {until:%H:%M:%S} UTC" if until is not None else "")
            case answers.Invalid(violations=violations):
                return f"{violations[0].reason}: {violations[0].message}"
            case answers.AlreadyAssigned(candidate=candidate):
                return f"on {candidate.name}"
            case _:
                return ""

    def _invitation(self, run: answers.RunSummary, *, waits: bool) -> str:
        command, missing = _grpcurl()
        ask = json.dumps({"item": {"run": {"namespace": run.namespace, "name": run.name}}}, separators=(",", ":"))
        why = f"Ask why {_key(run)} waits" if waits else f"Ask what is best for {_key(run)}"
        hint = "  (grpcurl is not installed; in a checkout, `make grpcurl` puts it into .venv/bin)\n" if missing else ""
        return (
            f"{why}. Ctrl-C ends the server.\n{hint}\n"
            f"  {command} -plaintext -d '{ask}' \\\n"
            f"    {self._target()} berth.v1.PlacementService/Score\n"
        )

    def _target(self) -> str:
        for address in self._addresses:
            if isinstance(address, TcpAddress):
                return str(address)
        return str(self._addresses[0])

    def _table(self, head: Sequence[str], rows: Sequence[Sequence[str | Sequence[str]]], *, left_out: int) -> None:
        if not rows:
            return
        for line in table(head, rows):
            self._out(line)
        self._out(f"and {left_out} more\n" if left_out > 0 else "")


def news(before: Runs, after: Runs, clock: str) -> Iterator[str]:
    """Yield what changed between two looks: how many Runs are where, who was placed, who ended. Else nothing."""
    known = {run.uid: run for run in before}
    changed = [run for run in after if run.uid not in known or known[run.uid].phase != run.phase]
    if not changed and len(before) == len(after):
        return
    phases = Counter("over" if run.phase in _OVER else run.phase for run in after)
    running = phases.total() - phases["Pending"] - phases["Scheduled"] - phases["over"]
    yield (
        f"{clock} {phases['Pending']:4} waiting {phases['Scheduled']:4} starting {running:4} running"
        f" {phases['over']:4} over"
    )
    placed = [f"{_key(run)} on {run.assigned.name}" for run in changed if run.assigned and _waited(known.get(run.uid))]
    over = [_key(run) for run in changed if run.phase in _OVER]
    for what, names in (("placed", placed), ("over", over)):
        if names:
            head = f"{'':{len(clock)}}  {what}: "
            yield head + some(names, WIDTH - len(head))


def _waited(run: answers.RunSummary | None) -> bool:
    return run is None or run.assigned is None


def _key(run: answers.RunSummary) -> str:
    return f"{run.namespace}/{run.name}"


def _use(pod: answers.CandidateSummary) -> str:
    resources = sorted(pod.resources.items(), key=lambda entry: (entry[0] != "runs", entry[0]))
    return ", ".join(f"{name} {amount(used)}/{amount(capacity)}" for name, (capacity, used) in resources)


def _grpcurl() -> tuple[str, bool]:
    """Return how grpcurl is called here, and whether it is missing. The environment's own comes first."""
    own = Path(sys.executable).parent / "grpcurl"
    if os.access(own, os.X_OK):
        return (str(own.relative_to(Path.cwd())) if own.is_relative_to(Path.cwd()) else str(own)), False
    return "grpcurl", shutil.which("grpcurl") is None
