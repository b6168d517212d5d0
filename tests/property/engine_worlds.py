"""Shows a world of plain Kubernetes JSON to the engine, by the same way as a cluster."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from berth_server.config.file import PluginConfig
from berth_server.framework.engine import Engine
from berth_server.framework.profile import build
from berth_server.objects.decode import decode
from berth_server.placement.ingest import KINDS, Ingest
from berth_server.placement.ports import Listing
from berth_server.placement.read import Identity, Reader
from berth_server.plugins import REGISTRY
from berth_server.state.cluster import ClusterState
from tests.fakes.clock import FakeClock
from tests.fakes.log import NullLog
from tests.fakes.store import DeafStore
from tests.oracle.worlds import World

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(moment: datetime) -> int:
    """Return wall microseconds."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def listing(kind: str, objects: Sequence[Mapping[str, Any]], version: int = 1) -> Listing:
    """Return the objects of one kind as an API server lists them."""
    resources = [decode(kind, json.dumps(thing).encode()) for thing in objects if thing["kind"] == kind]
    return Listing(kind, version, resources)


def reader_of(world: World, kinds: tuple[str, ...] = KINDS) -> Reader:
    """Return a reader on a state that has taken in `world`, kind by kind in that order, its reservations too."""
    clock = FakeClock(wall=micros(world.as_of))
    state = ClusterState(standing_at=micros(world.as_of))
    ingest = Ingest(DeafStore(), state, clock, NullLog())
    for kind in kinds:
        ingest.replace(listing(kind, world.objects))
    for reservation in world.reserved:
        state.hold(state.items[reservation.run_uid], reservation.pod_uid)
    choices = [PluginConfig("WorkspacePlacement", arguments={"unbound": world.unbound})]
    engines = {"default": Engine(build("default", choices, REGISTRY))}
    return Reader(ingest, engines, clock, Identity("test"))
