"""What a person does with grpcurl, and every example of it in the docs. grpcurl knows no proto file of ours."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import needs
from tests.e2e.process import DEADLINE, ROOT, serving

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```sh\n(grpcurl .*?)^```$", re.MULTILINE | re.DOTALL)
_ADDRESS = re.compile(r"(?<![\w.])(?:127\.0\.0\.1|localhost):50051\b")


@pytest.fixture(scope="module")
def grpcurl() -> str:
    """The path of grpcurl."""
    return needs.tool("grpcurl", "make grpcurl")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server that places nothing by itself."""
    with serving("--driver", "off") as (_, where):
        yield where


def examples_in(text: str) -> list[str]:
    """Return the fenced sh blocks that start with grpcurl."""
    return _BLOCK.findall(text)


def call(grpcurl: str, *words: str) -> str:
    """Run grpcurl and return what it prints."""
    done = subprocess.run(  # noqa: S603 -- words of the tests
        [grpcurl, "-plaintext", *words], capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def score(grpcurl: str, address: str, name: str) -> dict[str, Any]:
    """Ask for the ranking of a Run of namespace data."""
    ask = json.dumps({"item": {"run": {"namespace": "data", "name": name}}})
    answer: dict[str, Any] = json.loads(call(grpcurl, "-d", ask, address, "berth.v1.PlacementService/Score"))
    return answer


def test_it_lists_the_services(grpcurl: str, address: str) -> None:
    """Those that a caller may want."""
    assert call(grpcurl, address, "list").split() == [
        "berth.v1.InspectionService",
        "berth.v1.PlacementService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
    ]


def test_it_describes_a_method_and_its_request(grpcurl: str, address: str) -> None:
    """As they are in the proto files."""
    assert "rpc Score ( .berth.v1.ScoreRequest ) returns ( .berth.v1.ScoreResponse );" in call(
        grpcurl, address, "describe", "berth.v1.PlacementService.Score"
    )
    assert "repeated string candidates = 4;" in call(grpcurl, address, "describe", "berth.v1.ScoreRequest")


@pytest.mark.parametrize("name", [pytest.param("etl-orders", id="waiting"), pytest.param("train-llm", id="placed")])
def test_it_prints_the_scores_of_every_plugin(name: str, grpcurl: str, address: str) -> None:
    """For a Run that waits and for one that is placed: each candidate's total is the sum of its plugins."""
    answer = score(grpcurl, address, name)
    scored = [row for row in answer["rows"] if "rejection" not in row]
    assert answer["chosen"] == scored[0]["candidate"]
    for row in scored:
        assert [each["plugin"] for each in row["scores"]] == ["PreferredRunAffinity", "LeastLoaded"]
        assert int(row.get("total", 0)) == sum(int(each.get("weighted", 0)) for each in row["scores"])


def test_it_prints_why_a_run_waits(grpcurl: str, address: str) -> None:
    """In words and counts, with what comes nearest to fitting."""
    answer = score(grpcurl, address, "aggregate-decade")
    assert "chosen" not in answer
    assert answer["diagnosis"]["message"].startswith("0/8 runtime pods: ")
    assert answer["diagnosis"]["reasons"][0]["nearest_miss"].startswith("memory: needs ")


def test_a_unix_socket_can_be_called(grpcurl: str, sockets: Path) -> None:
    """With the address as berth-server takes and prints it."""
    address = f"unix://{sockets / 'berth.sock'}"
    with serving("--listen", address):
        assert "berth.v1.PlacementService" in call(grpcurl, address, "list")


@pytest.mark.parametrize("shown_address", ["tcp", "unix"])
def test_the_line_that_show_prints_works_when_pasted(shown_address: str, grpcurl: str, sockets: Path) -> None:
    """A shell runs it as it is; it tells why a Run waits."""
    listen = "127.0.0.1:0" if shown_address == "tcp" else f"unix://{sockets / 'berth.sock'}"
    with serving("--show", "--listen", listen) as (server, _):
        while (line := server.line()) is not None and not line.endswith("berth.v1.PlacementService/Score\n"):
            pass
        pasted = "\n".join(server.said[-2:])
        assert json.loads(run_in_shell(pasted, grpcurl))["diagnosis"]["considered"] == 8


def run_in_shell(block: str, grpcurl: str) -> str:
    """Run a block as a person would who has grpcurl on the path, and return what it prints."""
    path = f"{Path(grpcurl).parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(  # noqa: S603 -- blocks of our docs
        ["/bin/bash", "-euo", "pipefail", "-c", block],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PATH": path},
    )
    assert done.returncode == 0, f"{block}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_examples_of_the_docs_work(document: Path, grpcurl: str) -> None:
    """Those of one document run in their order, each in a shell of its own, on the quickstart without a driver."""
    blocks = examples_in(document.read_text(encoding="utf-8"))
    if not blocks:
        return
    with serving("--driver", "off") as (_, address):
        for block in blocks:
            run_in_shell(_ADDRESS.sub(address, block), grpcurl)


def test_examples_are_found() -> None:
    """Blocks of sh that start with grpcurl, and no others."""
    text = "```sh\ngrpcurl a\n```\n\n```sh\nmake run\n```\ntext\n```sh\ngrpcurl b \\\n  c\n```\n```\ngrpcurl d\n```\n"
    assert examples_in(text) == ["grpcurl a\n", "grpcurl b \\\n  c\n"]
