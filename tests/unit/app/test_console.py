"""What a person reads at a terminal, on the quickstart cluster."""

import asyncio
import json
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from berth_server.app.console import Console, news
from berth_server.app.layout import WIDTH
from berth_server.app.wiring import Parts, build_parts
from berth_server.config.addresses import TcpAddress, UnixAddress
from berth_server.config.file import Config
from berth_server.config.settings import Settings
from berth_server.driver.loop import Driver
from berth_server.placement.answers import RunSummary
from berth_server.placement.questions import CandidateRef
from tests.fakes.log import NullLog

QUICKSTART = Path(__file__).parents[3] / "examples" / "quickstart.yaml"
PORT = TcpAddress("127.0.0.1", 50051)


@asynccontextmanager
async def placed() -> AsyncIterator[Parts]:
    """Start everything but gRPC on the quickstart, and place what can be placed."""
    parts = build_parts(Settings(cluster=str(QUICKSTART), metrics_listen=None), Config(), NullLog())
    await parts.service.start()
    driver = Driver(parts.service, NullLog())
    while await driver.step(wait=0):
        await driver.settle()
    yield parts
    await parts.service.drain()
    await parts.service.stop()


async def picture(parts: Parts, *addresses: TcpAddress | UnixAddress, driven: bool = True) -> list[str]:
    """Return the lines that are printed for a cluster that stands still."""
    said: list[str] = []
    await asyncio.wait_for(Console(parts, addresses or (PORT,), said.append).run(driven=driven), 30)
    return "\n".join(said).splitlines()


def command_in(lines: list[str]) -> list[str]:
    """Return the words of the command to paste, as a shell reads them."""
    start = next(number for number, line in enumerate(lines) if "grpcurl" in line and line.endswith("\\"))
    return shlex.split(lines[start].removesuffix("\\") + lines[start + 1])


async def test_it_tells_where_everything_is_and_why_the_rest_waits() -> None:
    """Every Pod, every Run that waits, every one that Berth had to fail; no line is too wide."""
    async with placed() as parts:
        lines = await picture(parts)
    text = "\n".join(lines)
    assert max(len(line) for line in lines) <= WIDTH
    assert "data/gpu-1     runs 1/4, gpu 4/4, memory 48Gi/64Gi  train-llm" in lines
    assert "data/python-8  runs 0/8, memory 0/16Gi              (StaleHeartbeat)" in lines
    assert "web/resize-images      0/0 runtime pods: NoRuntimePods" in lines
    assert "data/workspace-no-name  spec.workspace.name: a workspace needs a name" in lines
    assert "data/etl-orders" not in text, "it is placed"
    assert "more\n" in text, "not all names of a busy Pod fit"


async def test_without_a_driver_each_run_is_told_where_it_would_go() -> None:
    """Nothing is placed by asking."""
    parts = build_parts(Settings(cluster=str(QUICKSTART), metrics_listen=None), Config(), NullLog())
    await parts.service.start()
    lines = await picture(parts, driven=False)
    later = await picture(parts, driven=False)
    await parts.service.stop()
    assert any(line.startswith("data/etl-orders ") and "would go to python-" in line for line in lines)
    assert later == lines


async def test_a_long_list_ends_with_what_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster of thousands does not fill the screen."""
    monkeypatch.setattr("berth_server.app.console.ROWS", 2)
    async with placed() as parts:
        lines = await picture(parts)
    start = next(number for number, line in enumerate(lines) if line.startswith("WAITING RUN"))
    assert lines[start + 1].startswith("data/aggregate-decade ")
    assert lines[start + 3] == "and 9 more"
    assert "and 18 more" in lines, "Pods"


@pytest.mark.parametrize(
    ("addresses", "want_target"),
    [
        pytest.param([PORT], ["127.0.0.1:50051"], id="port"),
        pytest.param([UnixAddress(Path("/run/b.sock")), PORT], ["127.0.0.1:50051"], id="port-before-socket"),
        pytest.param([UnixAddress(Path("/run/b.sock"))], ["unix:///run/b.sock"], id="socket"),
    ],
)
async def test_the_command_can_be_pasted(addresses: list[TcpAddress | UnixAddress], want_target: list[str]) -> None:
    """It names the server that prints it, and a Run that waits."""
    async with placed() as parts:
        words = command_in(await picture(parts, *addresses))
    assert words[1:3] == ["-plaintext", "-d"]
    assert json.loads(words[3]) == {"item": {"run": {"namespace": "data", "name": "aggregate-decade"}}}
    assert words[4:] == [*want_target, "berth.v1.PlacementService/Score"]


async def test_it_names_the_grpcurl_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's own before that of the PATH, and a hint where there is none."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    hint = "  (grpcurl is not installed; in a checkout, `make grpcurl` puts it into .venv/bin)"
    for place in (None, tmp_path / "path", tmp_path / "bin"):
        if place is not None:
            place.mkdir()
            (place / "grpcurl").touch(mode=0o755)
        async with placed() as parts:
            lines = await picture(parts)
        assert (hint in lines) == (place is None)
        want_command = str(place / "grpcurl") if place == tmp_path / "bin" else "grpcurl"
        assert command_in(lines)[0] == want_command
    monkeypatch.chdir(tmp_path)
    async with placed() as parts:
        assert command_in(await picture(parts))[0] == "bin/grpcurl"


def run(name: str, phase: str, pod: str = "") -> RunSummary:
    """Build a Run as the view has it."""
    return RunSummary(
        namespace="n",
        name=name,
        uid=name,
        version=1,
        runtime="python",
        phase=phase,
        assigned=CandidateRef(pod) if pod else None,
        requests={},
        attempt=1,
        created_at=None,
        message="",
        fault="",
    )


@pytest.mark.parametrize(
    ("before", "after", "want_lines"),
    [
        pytest.param([run("a", "Pending")], [run("a", "Pending")], [], id="nothing-changed"),
        pytest.param(
            [run("a", "Pending"), run("b", "Pending")],
            [run("a", "Scheduled", "p"), run("b", "Pending")],
            ["12:00:00    1 waiting    1 starting    0 running    0 over", "          placed: n/a on p"],
            id="placed",
        ),
        pytest.param(
            [run("a", "Scheduled", "p")],
            [run("a", "Running", "p")],
            ["12:00:00    0 waiting    0 starting    1 running    0 over"],
            id="starting-is-no-second-placement",
        ),
        pytest.param(
            [run("a", "Running", "p"), run("b", "Pending")],
            [run("a", "Succeeded"), run("b", "Scheduled", "p")],
            [
                "12:00:00    0 waiting    1 starting    0 running    1 over",
                "          placed: n/b on p",
                "          over: n/a",
            ],
            id="one-leaves-room-for-the-other",
        ),
        pytest.param(
            [run("a", "Pending")],
            [],
            ["12:00:00    0 waiting    0 starting    0 running    0 over"],
            id="deleted",
        ),
    ],
)
def test_news(before: list[RunSummary], after: list[RunSummary], want_lines: list[str]) -> None:
    """Lines for a change, none without."""
    assert list(news(before, after, "12:00:00")) == want_lines


def test_much_news_is_three_lines() -> None:
    """Counted where it does not fit."""
    before = [run(f"etl-{number}", "Pending") for number in range(40)]
    placed_ones = [replace(each, phase="Scheduled", assigned=CandidateRef("python-1")) for each in before[:20]]
    lines = list(news(before, [*placed_ones, *(replace(each, phase="Cancelled") for each in before[20:])], "12:00:00"))
    assert len(lines) == 3
    assert max(len(line) for line in lines) <= WIDTH
    assert [line.endswith(" more") for line in lines] == [False, True, True]
