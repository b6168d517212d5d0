"""The demo ends well where the outcome is the golden one, and tells what differs where it is not."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.process import DEADLINE, ROOT, environment


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A copy of the demo and its files."""
    for name in ("demo.py", "quickstart.yaml", "quickstart.golden"):
        shutil.copy(ROOT / "examples" / name, tmp_path)
    return tmp_path


def demo(examples: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    return subprocess.run(  # noqa: S603 -- our own example
        [sys.executable, str(examples / "demo.py"), *flags],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
        env=environment(),
    )


def test_the_outcome_is_the_golden_one(examples: Path) -> None:
    """Both tables and a Score call are printed, and the exit code is 0."""
    done = demo(examples)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith((examples / "quickstart.golden").read_text(encoding="utf-8"))
    assert '"plugin": "LeastLoaded"' in done.stdout
    assert done.stdout.endswith("demo: ok, the outcome is byte for byte quickstart.golden\n")


def test_a_difference_fails_until_it_is_accepted(examples: Path) -> None:
    """A diff and exit code 1; `--golden update` writes what was done."""
    golden = examples / "quickstart.golden"
    before = golden.read_text(encoding="utf-8")
    golden.write_text(before.replace("data/gpu-1     train-llm", "data/gpu-1     train-gpt"), encoding="utf-8")
    done = demo(examples)
    assert done.returncode == 1
    assert "-data/gpu-1     train-gpt\n+data/gpu-1     train-llm\n" in done.stderr
    assert demo(examples, "--golden", "update").returncode == 0
    assert golden.read_text(encoding="utf-8") == before
