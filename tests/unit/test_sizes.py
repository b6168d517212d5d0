"""Sizes of files and functions: what fits a screen can be read, and what has one idea is short."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAX_SOURCE_LINES, MAX_TEST_LINES, MAX_FUNCTION_LINES = 400, 600, 80
GENERATED = ROOT / "client" / "berth" / "v1"
SOURCES = [path for folder in ("client", "server") for path in sorted((ROOT / folder).rglob("*.py"))]
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def written(paths: list[Path]) -> list[Path]:
    """Leave out what a generator wrote."""
    return [path for path in paths if GENERATED not in path.parents]


def too_long(paths: list[Path], most: int) -> dict[str, int]:
    """Count the lines of the files that have more than that many."""
    lines = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in paths}
    return {path: count for path, count in lines.items() if count > most}


def long_functions(path: Path, most: int) -> dict[str, int]:
    """Count the lines of a file's functions that have more than that many, decorators and docstring among them."""
    found = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno is not None:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            count = node.end_lineno - first + 1
            if count > most:
                found[f"{path.relative_to(ROOT)}:{first} {node.name}"] = count
    return found


@pytest.mark.parametrize(
    ("paths", "most"),
    [
        pytest.param(written(SOURCES), MAX_SOURCE_LINES, id="sources"),
        pytest.param(TESTS, MAX_TEST_LINES, id="tests"),
    ],
)
def test_files_are_short(paths: list[Path], most: int) -> None:
    """A longer file has more than one idea."""
    assert len(paths) > 20, "the files were not found"
    assert too_long(paths, most) == {}


def test_functions_are_short() -> None:
    """A longer function does more than one thing."""
    found: dict[str, int] = {}
    for path in written(SOURCES):
        found |= long_functions(path, MAX_FUNCTION_LINES)
    assert found == {}


def test_what_is_too_long_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge itself: exactly at the bound is short enough, one line more is not."""
    monkeypatch.setattr("tests.unit.test_sizes.ROOT", tmp_path)
    path = tmp_path / "a.py"
    path.write_text("@x\ndef f():\n    pass\n\nasync def g():\n    return\n", encoding="utf-8")
    assert (too_long([path], 6), too_long([path], 5)) == ({}, {"a.py": 6})
    assert (long_functions(path, 3), long_functions(path, 2)) == ({}, {"a.py:1 f": 3})
