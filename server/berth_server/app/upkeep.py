"""What is done every few seconds whatever happens: gauges, and the sweep under the wake-ups."""

import asyncio

from berth_server.placement import gauges, sweep
from berth_server.placement.service import PlacementService


async def upkeep(service: PlacementService) -> None:
    """Do it for ever."""
    sweeper = sweep.Sweeper(service.core)
    rounds = round(sweep.PERIOD_SECONDS / gauges.PERIOD_SECONDS)
    count = 0
    while True:
        gauges.refresh(service.core, service.work)
        count += 1
        if count % rounds == 0:
            sweeper.sweep()
        await asyncio.sleep(gauges.PERIOD_SECONDS)
