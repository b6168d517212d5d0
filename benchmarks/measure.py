"""How a figure is taken: warm, repeated, the best of several rounds; work in this thread on its own CPU clock."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

ROUNDS = 5
ROUND_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value. `text` is how people read it."""

    name: str
    value: float
    text: str


def rate(work: Callable[[], object], *, rounds: int = ROUNDS, seconds: float = ROUND_SECONDS) -> float:
    """Return how often a CPU second of this thread `work` is done, in the best of several rounds."""
    work()
    best = 0.0
    for _ in range(rounds):
        count, start = 0, time.thread_time()
        while (elapsed := time.thread_time() - start) < seconds:
            work()
            count += 1
        best = max(best, count / elapsed)
    return best


def yardstick() -> float:
    """Return how often a second a fixed piece of Python and numpy work is done: what this machine gives just now."""
    column = np.arange(15_000, dtype=np.int64).reshape(3, 5_000)

    def work() -> int:
        table = {number: number * 3 for number in range(100)}
        return int((column * 3 + 1).max(axis=0).argmin()) + sum(table.values())

    return rate(work, rounds=3, seconds=0.2)
