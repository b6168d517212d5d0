"""Python's garbage collector and a large state: what was read first stays, so it must not be looked at again and again.

A full collection walks every container there is, a third of a second for 100,000 Runs, and the loop stands still
meanwhile. Nothing here frees memory by hand.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reading_much() -> Iterator[None]:
    """Let the collector rest while much is read that will stay, and leave all of that out of later collections."""
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.enable()
