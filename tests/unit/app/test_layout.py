"""Tables and lists fit their width, and leave nothing out without saying so."""

import pytest

from berth_server.app.layout import WIDTH, amount, cut, paragraph, some, table

MANY = [f"notebook-{number}" for number in range(30)]


@pytest.mark.parametrize(
    ("value", "want_text"),
    [
        pytest.param(0, "0", id="zero"),
        pytest.param(7, "7", id="small"),
        pytest.param(4096, "4096", id="kibi-is-left-a-count"),
        pytest.param(2**20, "1Mi", id="mebi"),
        pytest.param(17_179_869_184, "16Gi", id="gibi"),
        pytest.param(17_179_869_185, "17179869185", id="never-rounded"),
        pytest.param(3 * 2**40, "3Ti", id="tebi"),
    ],
)
def test_amounts_are_exact(value: int, want_text: str) -> None:
    """A suffix only where it divides evenly."""
    assert amount(value) == want_text


@pytest.mark.parametrize(
    ("names", "width", "want_line"),
    [
        pytest.param(["a", "b", "c"], 7, "a, b, c", id="all-fit"),
        pytest.param(["aaaa", "bbbb", "cccc"], 15, "aaaa, +2 more", id="one-fits"),
        pytest.param(["aaaa", "bbbb", "cccc"], 16, "aaaa, bbbb, cccc", id="no-room-needed-for-more"),
        pytest.param(["a-very-long-name", "b"], 12, "a-…, +1 more", id="not-even-one"),
        pytest.param(["a-very-long-name"], 10, "a-very-lo…", id="a-single-long-one"),
    ],
)
def test_as_many_names_as_fit(names: list[str], width: int, want_line: str) -> None:
    """The rest is counted."""
    assert some(names, width) == want_line


def test_what_is_cut_says_so() -> None:
    """An ellipsis, within the width; line breaks become spaces."""
    assert cut("one\ntwo", 7) == "one two"
    assert cut("one\ntwo three", 7) == "one tw…"


def test_no_line_of_a_table_is_too_wide() -> None:
    """Whatever its cells hold; columns start where the head says."""
    rows = [("short", "x", MANY), ("n" * 200, "y" * 200, "z" * 200), ("a", "b", "-")]
    lines = list(table(("POD", "USE", "RUNS"), rows))
    assert max(len(line) for line in lines) == WIDTH
    assert lines[1].index("notebook-0") == lines[0].index("RUNS") == lines[3].index("-")
    assert lines[1].endswith(" more")


def test_a_sentence_is_broken_into_lines() -> None:
    """At spaces; no word is lost."""
    text = " ".join(f"word-{number}" for number in range(60))
    broken = paragraph(text)
    assert max(len(line) for line in broken.splitlines()) <= WIDTH
    assert broken.split() == text.split()
