"""The guide for controller authors: each block of code is run, and what stands under it is what comes out.

A `text` block is what the code before it printed. A `yaml` block begins with a comment: an expression, and the block is
its value.
"""

import contextlib
import io
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from berth.workload import write
from tests.vectors.workload_api import FOLDER

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "docs" / "workload-guide.md"
EXAMPLES = FOLDER.parent / "workload-examples"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Fence(NamedTuple):
    """One block of the guide."""

    language: str
    text: str


FENCES = [Fence(*found) for found in _FENCE.findall(GUIDE.read_text(encoding="utf-8"))]


def _run_up_to(last: int) -> tuple[dict[str, Any], str]:
    """Run the code up to a block, in one namespace; with what the last code printed."""
    names: dict[str, Any] = {}
    printed = io.StringIO()
    for number, fence in enumerate(FENCES[: last + 1]):
        if fence.language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(fence.text, f"{GUIDE.name}#{number}", "exec"), names)  # noqa: S102 - our own document
    return names, printed.getvalue()


@pytest.mark.parametrize(
    "number", [pytest.param(number, id=f"{number}-{fence.language}") for number, fence in enumerate(FENCES)]
)
def test_every_block_is_true(number: int) -> None:
    """Code runs, and its result is the one that is printed."""
    fence = FENCES[number]
    names, printed = _run_up_to(number)
    match fence.language:
        case "text":
            assert printed == fence.text
        case "yaml":
            expression = fence.text.splitlines()[0].removeprefix("# ")
            assert yaml.safe_load(fence.text) == eval(expression, names)  # noqa: S307 - our own document
        case language:
            assert language == "python"


@pytest.mark.parametrize("file", ["gang-v1alpha2.yaml", "rack.yaml", "composite.yaml"])
def test_the_examples_of_the_documentation_are_in_it(file: str) -> None:
    """Their specs, apart from the controller that the guide's trees have; of the tree also all its groups."""
    shown = [yaml.safe_load(fence.text) for fence in FENCES if fence.language == "yaml"]
    specs = [block.get("spec", block) for block in shown]
    documented = list(yaml.safe_load_all((EXAMPLES / file).read_text(encoding="utf-8")))
    uncontrolled = [{name: value for name, value in spec.items() if name != "controllerRef"} for spec in specs]
    assert documented[0]["spec"] in specs + uncontrolled
    if file == "composite.yaml":
        names, _ = _run_up_to(len(FENCES))
        made = [write(group) | {"metadata": {"name": group.metadata.name}} for group in names["groups"]]
        assert made == documented[1:]


def test_links_of_the_guide_lead_somewhere() -> None:
    """Relative links name files of the repository."""
    for target in re.findall(r"\]\((\.\./[^)]+)\)", GUIDE.read_text(encoding="utf-8")):
        assert (GUIDE.parent / target).exists(), target
