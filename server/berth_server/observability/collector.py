"""Python's garbage collector and a large state: what was read first stays, so it must not be looked at again and again.

A full collection walks every container there is, a third of a second for 100,000 Runs, and the loop stands still
meanwhile. Nothing here frees memory by hand.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

YOUNG: Final = 10_000
"""Containers made before the youngest are looked at. By default it is 700, which a few placements make."""


@contextmanager
def reading_much() -> Iterator[None]:
    """Let the collector rest while much is read that will stay, and leave all of that out of later collections."""
    gc.disable()
    try:
        yield
        gc.freeze()
        gc.set_threshold(YOUNG)
    finally:
        gc.enable()
