"""How the console lays out what it shows: no line wider than WIDTH. Pure text; it knows no Run and no Pod."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

WIDTH: Final = 110
_GAP: Final = "  "
_UNITS: Final = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20))


def paragraph(text: str) -> str:
    """Break a sentence into lines."""
    return textwrap.fill(text, WIDTH, subsequent_indent=_GAP, break_long_words=False, break_on_hyphens=False)


def cut(text: str, width: int) -> str:
    """Return the text on one line, with an ellipsis where it is too long."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def some(names: Sequence[str], width: int) -> str:
    """List as many names as fit, and say how many more there are: `a, b, +3 more`. At least one is named."""
    more = ""
    for left_out in range(len(names)):
        more = f", +{left_out} more" if left_out else ""
        line = ", ".join(names[: len(names) - left_out]) + more
        if len(line) <= width:
            return line
    return cut(names[0], max(width - len(more), 1)) + more


def amount(value: int) -> str:
    """Write a quantity as Kubernetes would, exact: 16Gi, not 17179869184."""
    for suffix, unit in _UNITS:
        if value and not value % unit:
            return f"{value // unit}{suffix}"
    return str(value)


def table(head: Sequence[str], rows: Iterable[Sequence[str | Sequence[str]]], *, widest: int = 40) -> Iterator[str]:
    """Yield the lines of a table. A last cell may be a list of names; it takes what room is left.

    `widest`: where the other cells are cut.
    """
    lines = [head, *rows]
    fixed = [[cut(str(cell), widest) for cell in line[:-1]] for line in lines]
    widths = [max(len(cell) for cell in column) for column in zip(*fixed, strict=True)]
    room = WIDTH - sum(width + len(_GAP) for width in widths)
    for line, cells in zip(lines, fixed, strict=True):
        last = line[-1]
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        yield _GAP.join([*padded, cut(last, room) if isinstance(last, str) else some(last, room)]).rstrip()
