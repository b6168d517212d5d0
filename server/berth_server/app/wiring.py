"""From settings to objects: which store, which plugins, which clock. Builds, and starts nothing."""

import random
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version as version_of
from typing import Any

from prometheus_client import CollectorRegistry

from berth_server.config.file import Config
from berth_server.config.settings import KUBERNETES, Settings
from berth_server.framework.engine import Engine
from berth_server.framework.profile import ProfileError, build
from berth_server.kube.embedded import EmbeddedStore
from berth_server.kube.manifests import LoadedCluster, load_cluster
from berth_server.kube.play import Play
from berth_server.kube.stamps import brought_to
from berth_server.kube.writer import StatusWriter
from berth_server.objects.clock import SystemClock
from berth_server.objects.timestamps import format_time
from berth_server.observability.metrics import Metrics
from berth_server.placement.service import PlacementService, Surroundings
from berth_server.placement.translate import micros
from berth_server.plugins import REGISTRY


class StartError(Exception):
    """The server can't start. The message is what the operator reads, one sentence a line."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What was built."""

    service: PlacementService
    metrics: Metrics
    registry: CollectorRegistry
    store: EmbeddedStore
    play: Play | None
    origin: str
    """One line: what cluster this is, and where its clock stands."""


def engines_of(config: Config) -> dict[str, Engine]:
    """Build the engine of every profile. Raises StartError."""
    try:
        return {profile.name: Engine(build(profile.name, profile.plugins, REGISTRY)) for profile in config.profiles}
    except ProfileError as error:
        raise StartError(str(error)) from None


def build_parts(settings: Settings, config: Config, log: Any) -> Parts:
    """Build everything but the gRPC server. Raises StartError, and ManifestError for a cluster that can't be read."""
    if settings.cluster == KUBERNETES:
        raise StartError("--cluster kubernetes is not built yet: name a file, a directory or - with --cluster.")
    engines = engines_of(config)
    registry = CollectorRegistry()
    rejections = {pair for engine in engines.values() for pair in engine.profile.reasons}
    metrics = Metrics(registry, rejections=sorted(rejections))
    metrics.set_build(version_of("berth-scheduler"))
    loaded = _load(settings)
    clock = SystemClock()
    store = EmbeddedStore()
    store.load(loaded.objects)
    service = PlacementService(
        Surroundings(
            store=store,
            writer=StatusWriter(store, lambda: datetime.now(UTC)),
            engines=engines,
            clock=clock,
            metrics=metrics,
            log=log,
            jitter=random.random,
            instance=str(uuid.uuid4()),
            leader=settings.role == "scheduler",
            standing_at=None if loaded.live else micros(format_time(loaded.as_of)),
            as_of=None if loaded.live else loaded.as_of,
        )
    )
    play = None if settings.play is None else Play(store, clock, duration=settings.play)
    return Parts(service, metrics, registry, store, play, _origin(settings, loaded))


def _load(settings: Settings) -> LoadedCluster:
    as_of = settings.as_of
    text = "" if as_of is None else as_of if isinstance(as_of, str) else format_time(as_of)
    loaded = load_cluster(settings.cluster, as_of=text)
    # What was stale when the dump was taken must stay stale: all stamps move on together.
    return brought_to(loaded, datetime.now(UTC)) if settings.play is not None else loaded


def _origin(settings: Settings, loaded: LoadedCluster) -> str:
    source = "standard input" if settings.cluster == "-" else settings.cluster
    clock = "time goes on" if loaded.live else "its clock stands still"
    return f"{source} as of {format_time(loaded.as_of)} ({loaded.as_of_origin}): {clock}"
