"""Runs every case and prints the table; exits with 1 when a limit is broken. `--only WORD` runs some of them."""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from benchmarks.cluster import cluster
from benchmarks.decisions import decisions
from benchmarks.driving import driving
from benchmarks.measure import Figure, yardstick
from benchmarks.memory import memory
from benchmarks.serving import serving
from benchmarks.watching import watching

LIMITS = Path(__file__).parent / "limits.yaml"
SUITES: dict[str, Callable[[], Iterable[Figure]]] = {
    "decisions": decisions,
    "serving": serving,
    "driving": driving,
    "memory": memory,
    "watching": watching,
    "cluster": cluster,
}


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--only", choices=sorted(SUITES), action="append", help="run this suite alone; repeatable")
    chosen = parser.parse_args().only or list(SUITES)
    entries: list[dict[str, Any]] = yaml.safe_load(LIMITS.read_text())
    figures = {"yardstick": yardstick()}
    print(f"{'case':<60} {'figure':>12} {'goal':>12}  limit", flush=True)
    broken = 0
    known = {entry["name"]: entry for entry in entries}
    for figure in _measure(chosen):
        figures[figure.name] = figure.value
        entry = known[figure.name]
        verdict, holds = _judge(figure, entry.get("limit"), figures)
        broken += not holds
        print(f"{figure.name:<60} {figure.text:>12} {entry.get('goal', ''):>12}  {verdict}", flush=True)
    return 1 if broken else 0


def _measure(chosen: list[str]) -> Iterator[Figure]:
    for name in chosen:
        yield from SUITES[name]()


def _judge(figure: Figure, limit: dict[str, Any] | None, figures: dict[str, float]) -> tuple[str, bool]:
    if limit is None:
        return "", True
    ratio = figure.value / figures[limit["of"]]
    holds = ratio >= limit["at_least"]
    return f"{'ok' if holds else 'BROKEN'}: {ratio:.2f} of {limit['of']}, at least {limit['at_least']}", holds


if __name__ == "__main__":
    sys.exit(main())
