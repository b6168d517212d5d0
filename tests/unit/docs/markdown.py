"""Reads markdown as far as the tests of documents need it: links, headings, tables, fenced blocks."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]
_FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CODE: Final = re.compile(r"`[^`\n]*`")


def documents() -> list[Path]:
    """Return all markdown files that people read: in the root, in docs, in examples."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")]
    return sorted(found)


def name_of(path: Path) -> str:
    """Return the path as a test's id."""
    return str(path.relative_to(ROOT))


def links(text: str) -> list[str]:
    """Return the targets of all links outside of code."""
    return _LINK.findall(_CODE.sub("", _FENCE.sub("", text)))


def anchors(text: str) -> set[str]:
    """Return the anchors of all headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def blocks(text: str, *languages: str) -> list[str]:
    """Return the contents of all fenced blocks of these languages, in their order."""
    return [body for found, body in _FENCE.findall(text) if found in languages]


def table(text: str, *head: str) -> list[list[str]]:
    """Return the rows of the one table whose head starts with these cells; backquotes are taken off."""
    tables = [rows for rows in _tables(text) if rows[0][: len(head)] == list(head)]
    assert len(tables) == 1, f"{len(tables)} tables start with {head}"
    return tables[0][1:]


def _tables(text: str) -> Iterator[list[list[str]]]:
    lines = _FENCE.sub("", text).splitlines()
    rows: list[list[str]] = []
    for line in [*lines, ""]:
        if line.startswith("|"):
            cells = [cell.strip().replace("`", "") for cell in line.strip("|").split("|")]
            if not all(set(cell) <= {"-", ":"} and cell for cell in cells):
                rows.append(cells)
        elif rows:
            yield rows
            rows = []
