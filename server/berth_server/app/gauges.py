"""Sets the gauges that show the state, again and again, on the event loop that owns it.

Prometheus is served by another thread, which must not look into the state itself.
"""

import asyncio
from typing import Final

from berth_server.objects.clock import SECOND, Clock
from berth_server.observability.metrics import Metrics
from berth_server.placement.service import PlacementService

PERIOD_SECONDS: Final = 1.0
_QUEUES: Final = {
    "active": ("active",),
    "backoff": ("backoff", "retry_delay"),
    "unschedulable": ("unschedulable",),
}
"""Label of `berth_pending` -> states of the queue. What is in flight is not waiting."""


class Gauges:
    """One task, `run`; `update` is what it does."""

    def __init__(self, service: PlacementService, metrics: Metrics, clock: Clock) -> None:
        self._service = service
        self._metrics = metrics
        self._clock = clock

    async def run(self) -> None:
        """Update until cancelled."""
        while True:
            self.update()
            await asyncio.sleep(PERIOD_SECONDS)

    def update(self) -> None:
        """Show the state as of now."""
        metrics, core = self._metrics, self._service.core
        oldest = min((each.created_at for each in core.reservations), default=None)
        metrics.assumed.set(len(core.reservations))
        metrics.assumed_oldest_age.set(0.0 if oldest is None else max(self._clock.wall() - oldest, 0) / SECOND)
        counts = self._service.work.counts()
        metrics.inflight_events.set(counts["inflight_events"])
        for label, states in _QUEUES.items():
            metrics.pending[label].set(sum(counts.get(state, 0) for state in states))
        metrics.snapshot_age.set(core.reader.view_age())
        metrics.leader.set(core.reader.identity.leader)
        metrics.overcommitted_candidates.set(sum(1 for _ in core.state.overcommitted()))
