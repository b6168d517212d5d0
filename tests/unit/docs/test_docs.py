"""The documents say what the code has, no more and no less, and lead nowhere that does not exist."""

import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from urllib.parse import unquote

import click
import pytest
from prometheus_client import CollectorRegistry

from berth.v1 import inspection_service_pb2, placement_service_pb2
from berth_server.__main__ import serve
from berth_server.config.file import FILE_SETTINGS, parse_config
from berth_server.framework.profile import build
from berth_server.objects.faults import FaultReason
from berth_server.observability.metrics import Metrics
from berth_server.placement.answers import IneligibleReason
from berth_server.placement.diagnosis import NO_RUNTIME_PODS
from berth_server.placement.failures import Reason
from berth_server.plugins import REGISTRY
from berth_server.queue.outcomes import RESERVED_FOR_OTHER
from berth_server.rpc.errors import TABLE
from berth_server.state.reservations import State
from tests.unit.docs import markdown
from tests.unit.docs.markdown import ROOT

DOCS = ROOT / "docs"
RECORDS = DOCS / "adr"
LONGEST_LINE = 120
GENERATED = DOCS / "workload-rule-sets.md"
"""Has requests as one-line JSON; it is compared with what generates it elsewhere."""


@pytest.mark.parametrize("document", [pytest.param(path, id=markdown.name_of(path)) for path in markdown.documents()])
def test_every_link_resolves(document: Path) -> None:
    """Relative links name a file that exists, and a heading that is in it."""
    text = document.read_text(encoding="utf-8")
    for link in markdown.links(text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (document.parent / path) if path else document
        assert target.exists(), f"{link} leads nowhere"
        if anchor:
            assert anchor in markdown.anchors(target.read_text(encoding="utf-8")), f"{link} names no heading"


def test_filters_are_described_in_their_order() -> None:
    """docs/runs.md has every reason of every filter, in the order in which they are asked."""
    rows = markdown.table(_read(DOCS / "runs.md"), "plugin", "reason")
    want = build("default", (), REGISTRY).reasons
    assert [(plugin, reason) for plugin, reason, *_ in rows] == list(want)


def test_every_word_about_a_run_itself_is_described() -> None:
    """docs/runs.md has the words for why a Run takes part in no cycle, or waits without one."""
    words = [row[0] for row in markdown.table(_read(DOCS / "runs.md"), "word", "means", "cure")]
    # A member of a group is refused by Plan as an error; in the queue it has this word.
    want = {*IneligibleReason, *FaultReason}
    assert sorted(words) == sorted(
        {each.value for each in want} | {NO_RUNTIME_PODS, RESERVED_FOR_OTHER, "MemberOfGroup"}
    )


def test_every_error_is_described_with_its_code() -> None:
    """docs/api.md has each reason that a caller can be told, in the order of the code, with its gRPC code."""
    rows = markdown.table(_read(DOCS / "api.md"), "reason", "code")
    assert [(reason, code) for reason, code, *_ in rows] == [(each.value, TABLE[each].code.name) for each in Reason]


def test_every_method_has_a_section_or_an_example() -> None:
    """docs/api.md shows how each RPC is called, and explains those that decide."""
    text = _read(DOCS / "api.md")
    called = "".join(markdown.blocks(text, "sh", "console"))
    for module in (placement_service_pb2, inspection_service_pb2):
        for service in module.DESCRIPTOR.services_by_name.values():
            missing = [each.name for each in service.methods if f"{service.full_name}/{each.name}" not in called]
            assert missing == []
    decides = placement_service_pb2.DESCRIPTOR.services_by_name["PlacementService"].methods
    assert [each.name for each in decides] == re.findall(r"^### (\w+)$", text, re.MULTILINE)


def test_every_state_of_a_reservation_is_described() -> None:
    """docs/api.md has all of them, in the order of their life."""
    rows = markdown.table(_read(DOCS / "api.md"), "state", "means", "ends by")
    assert [row[0] for row in rows] == [state.value for state in State]


def test_every_flag_is_described() -> None:
    """docs/operations.md has each flag with its variable, and with its key in the file if it has one."""
    rows = markdown.table(_read(DOCS / "operations.md"), "flag", "variable", "key in the file")
    names = [parameter.name or "" for parameter in serve.params if isinstance(parameter, click.Option)]
    keys = {key.lower(): key for key in FILE_SETTINGS}
    want = [
        [f"--{name.replace('_', '-')}", f"BERTH_{name.upper()}", keys.get(name.replace("_", ""), "")] for name in names
    ]
    assert [row[:3] for row in rows] == want


def test_every_metric_is_described() -> None:
    """docs/operations.md has each family with its type and labels, in any order."""
    registry = CollectorRegistry()
    metrics = Metrics(registry, rejections=[("Plugin", "Reason")])
    metrics.set_build("1.0.0")
    metrics.call_observer("service", "Method")("OK", 0.1)
    want = {}
    for family in registry.collect():
        suffix = "_total" if family.type == "counter" else ""
        labels = set(chain.from_iterable(sample.labels for sample in family.samples)) - {"le"}
        want[family.name + suffix] = (family.type, labels)
    rows = markdown.table(_read(DOCS / "operations.md"), "metric", "type", "labels")
    assert {name: (kind, set(_listed(labels))) for name, kind, labels, *_ in rows} == want


@pytest.mark.parametrize("document", ["operations.md", "migrating.md"])
def test_every_profile_shown_can_be_used(document: str) -> None:
    """The configuration files in the documents are read, and their profiles built."""
    examples = markdown.blocks(_read(DOCS / document), "yaml")
    assert examples
    for example in examples:
        for profile in parse_config(example).profiles:
            build(profile.name, profile.plugins, REGISTRY)


def test_the_index_lists_every_decision() -> None:
    """docs/adr/README.md has each record once, by its own title, in order."""
    listed = re.findall(r"^\| \[[^\]]*\]\(([^)]+)\) \| (.+) \|$", _read(RECORDS / "README.md"), re.MULTILINE)
    records = sorted(path for path in RECORDS.glob("*.md") if path.name != "README.md")
    assert listed == [(path.name, _title(path)) for path in records]


@pytest.mark.parametrize(
    "record", [pytest.param(path, id=path.stem) for path in sorted(RECORDS.glob("*.md")) if path.name != "README.md"]
)
def test_a_decision_has_its_parts(record: Path) -> None:
    """A title, then context, decision and consequences, each with something in it."""
    parts = re.split(r"^## (.+)$", _read(record), flags=re.MULTILINE)
    assert parts[1::2] == ["Context", "Decision", "Consequences"]
    assert all(part.strip() for part in parts)


@pytest.mark.parametrize("document", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_target_named_is_there(document: str) -> None:
    """`make ...` in the documents that tell how to work names targets of the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", _read(ROOT / "Makefile"), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", _read(ROOT / document), re.MULTILINE))
    assert named <= targets


def test_every_path_in_the_table_of_changes_is_there() -> None:
    """ARCHITECTURE.md sends nobody to a file that was moved."""
    for _, where in markdown.table(_read(ROOT / "ARCHITECTURE.md"), "what", "where"):
        for path in re.findall(r"(?<![\w*/.])((?:\w+/)+(?:\w+\.\w+)?|\w+\.(?:py|md))", where):
            assert (ROOT / path).exists() or (ROOT / "server" / "berth_server" / path).exists(), path


@pytest.mark.parametrize(
    "document",
    [pytest.param(path, id=markdown.name_of(path)) for path in markdown.documents() if path != GENERATED],
)
def test_no_line_is_too_long(document: Path) -> None:
    """Prose is wrapped; tables and fenced blocks can't be."""
    prose = re.sub(r"^```.*?^```$", "", _read(document), flags=re.MULTILINE | re.DOTALL)
    too_long = [line for line in prose.splitlines() if len(line) > LONGEST_LINE and not line.startswith("|")]
    assert too_long == []


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _title(record: Path) -> str:
    """The title without its number; numbered records start with the number of their file."""
    title = _read(record).splitlines()[0].removeprefix("# ")
    number = re.match(r"\d{4}", record.name)
    return title.removeprefix(f"{number.group()}. ") if number else title


def _listed(cell: str) -> Sequence[str]:
    return [each.strip() for each in cell.split(",") if each.strip()]
