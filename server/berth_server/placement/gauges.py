"""Numbers that are read off the state now and then, for the metrics. Changes nothing else.

They are set from the event loop and not when they are scraped, because the scrape comes from another thread.
"""

from typing import Final

from berth_server.objects.item import Item
from berth_server.placement.core import Core
from berth_server.placement.work import Work

PERIOD_SECONDS: Final = 5.0
_SCHEDULED: Final = "Scheduled"


def refresh(core: Core, work: Work) -> None:
    """Set every gauge of `Metrics` that speaks of the state. Costs with the number of items: call it seldom."""
    metrics, counts = core.metrics, work.counts()
    metrics.pending["active"].set(counts["active"])
    metrics.pending["backoff"].set(counts["backoff"] + counts["retry_delay"])
    metrics.pending["unschedulable"].set(counts["unschedulable"])
    metrics.inflight_events.set(counts["inflight_events"])
    metrics.assumed.set(len(core.reservations))
    oldest = next(iter(core.reservations), None)
    age = 0.0 if oldest is None else (core.clock.wall() - oldest.created_at) / 1_000_000
    metrics.assumed_oldest_age.set(max(age, 0.0))
    metrics.snapshot_age.set(core.reader.view_age())
    metrics.leader.set(1 if core.reader.identity.leader else 0)
    metrics.overcommitted_candidates.set(sum(1 for _ in core.state.overcommitted()))
    metrics.scheduled_on_missing_pod.set(sum(1 for item in core.state.items.values() if _is_lost(core, item)))
    for kind, view in core.ingest.views.items():
        metrics.undecodable_objects[kind].set(view.undecodable)


def _is_lost(core: Core, item: Item) -> bool:
    """A Run that was assigned and never claimed, on a Pod that is gone: nobody else repairs it."""
    return item.phase == _SCHEDULED and bool(item.assigned_uid) and item.assigned_uid not in core.state.candidates
