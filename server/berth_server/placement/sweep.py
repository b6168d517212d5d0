"""The safety net under the wake-ups: looks whether anything that waits would fit, a few keys at a time.

Every key that it has to rescue is a wake-up that was lost, that is, a bug: it is counted and logged. Nothing relies on
it, so it may be slow.
"""

from typing import Final

from berth_server.objects.item import Item
from berth_server.placement.core import Core
from berth_server.placement.eligibility import standing
from berth_server.queue.key import PendingState

PERIOD_SECONDS: Final = 30.0
KEYS_A_SWEEP: Final = 256


class Sweeper:
    """Goes round all keys that wait for a cure, so many at a time."""

    def __init__(self, core: Core, *, keys: int = KEYS_A_SWEEP) -> None:
        self._core = core
        self._keys = keys
        self._left: list[str] = []

    def sweep(self) -> int:
        """Look at the next keys and activate those that would fit; return how many."""
        core = self._core
        if not self._left:
            self._left = core.queue.unschedulable()
        looked, self._left = self._left[: self._keys], self._left[self._keys :]
        rescued = 0
        for uid in looked:
            item = core.state.items.get(uid)
            waits = core.queue.state_of(uid) is PendingState.UNSCHEDULABLE
            if item is not None and waits and self._fits(item):
                rescued += 1
                core.queue.activate(item.uid, core.clock.monotonic())
                core.metrics.queue_activations["sweep"].inc()
                core.log.warning("a wake-up was lost", run_uid=item.uid, namespace=item.namespace)
        return rescued

    def _fits(self, item: Item) -> bool:
        core = self._core
        if core.reservations.of_item(item.uid) is not None:
            return False
        if standing(item, wall=core.clock.wall(), monotonic=core.clock.monotonic()) is not None:
            return False
        return core.reader.engine("").decide(core.reader.look(item)).row >= 0
