"""From settings to objects: which store, which plugins, which clock. Builds, and starts nothing."""

import random
import uuid
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version as version_of
from typing import Any, Final

from prometheus_client import CollectorRegistry

from berth_server.app.traced import TracedEngine
from berth_server.app.upkeep import upkeep
from berth_server.config.file import Config
from berth_server.config.settings import KUBERNETES, Settings
from berth_server.framework.engine import Engine
from berth_server.framework.profile import ProfileError, build
from berth_server.kube.cluster import KubernetesStore
from berth_server.kube.connection import Connection
from berth_server.kube.credentials import Source
from berth_server.kube.embedded import EmbeddedStore
from berth_server.kube.manifests import LoadedCluster, load_cluster
from berth_server.kube.play import Play
from berth_server.kube.recorder import EventRecorder
from berth_server.kube.stamps import brought_to
from berth_server.kube.writer import StatusWriter
from berth_server.objects.clock import SystemClock
from berth_server.objects.timestamps import format_time
from berth_server.observability.metrics import Metrics
from berth_server.observability.tracing import NoTracer, OtelTracer, Tracer, TracingError, otlp_tracer
from berth_server.placement.ports import NoEvents, Recorder, Store
from berth_server.placement.service import PlacementService, Surroundings
from berth_server.placement.translate import micros
from berth_server.plugins import REGISTRY


class StartError(Exception):
    """The server can't start. The message is what the operator reads, one sentence a line."""


Background = Callable[[], Coroutine[Any, Any, None]]
"""Begins what runs until it is cancelled."""
USER_AGENT: Final = f"berth-server/{version_of('berth-scheduler')}"


@dataclass(frozen=True, slots=True)
class Parts:
    """What was built. `connection` is to be entered before anything is started, `background` runs while it serves.

    `origin`: one line that says what cluster this is, and where its clock stands.
    """

    service: PlacementService
    metrics: Metrics
    registry: CollectorRegistry
    origin: str
    background: Mapping[str, Background]
    play: Play | None = None
    connection: Connection | None = None
    tracer: OtelTracer | None = None


@dataclass(frozen=True, slots=True)
class _Cluster:
    """Where the objects are, and what comes with that."""

    store: Store
    origin: str
    standing_at: datetime | None = None
    play: Play | None = None
    connection: Connection | None = None
    recorder: Recorder = field(default_factory=NoEvents)
    background: Mapping[str, Background] = field(default_factory=dict)


def engines_of(config: Config, tracer: Tracer | None = None) -> dict[str, Engine]:
    """Build the engine of every profile. Raises StartError."""
    engines: dict[str, Engine] = {}
    for each in config.profiles:
        try:
            profile = build(each.name, each.plugins, REGISTRY)
        except ProfileError as error:
            raise StartError(str(error)) from None
        engines[each.name] = Engine(profile) if tracer is None else TracedEngine(profile, tracer)
    return engines


def build_parts(settings: Settings, config: Config, log: Any) -> Parts:
    """Build everything but the gRPC server. Raises StartError, and ManifestError for a cluster that can't be read."""
    tracer = _tracer(settings)
    engines = engines_of(config, tracer)
    registry = CollectorRegistry()
    rejections = {pair for engine in engines.values() for pair in engine.profile.reasons}
    metrics = Metrics(registry, rejections=sorted(rejections))
    metrics.set_build(version_of("berth-scheduler"))
    clock, instance = SystemClock(), str(uuid.uuid4())
    build_cluster = _kubernetes if settings.cluster == KUBERNETES else _from_files
    cluster = build_cluster(settings, metrics, clock, instance, log, tracer)
    service = PlacementService(
        Surroundings(
            store=cluster.store,
            writer=StatusWriter(cluster.store, lambda: datetime.now(UTC)),
            engines=engines,
            clock=clock,
            metrics=metrics,
            log=log,
            jitter=random.random,
            instance=instance,
            leader=settings.role == "scheduler",
            standing_at=None if cluster.standing_at is None else micros(format_time(cluster.standing_at)),
            as_of=cluster.standing_at,
            recorder=cluster.recorder,
            tracer=NoTracer() if tracer is None else tracer,
        )
    )
    background = {
        "ingest": service.follow,
        "time": service.work.keep_time,
        "settler": service.settler.run,
        "upkeep": lambda: upkeep(service),
        **cluster.background,
    }
    return Parts(service, metrics, registry, cluster.origin, background, cluster.play, cluster.connection, tracer)


def _kubernetes(
    settings: Settings, metrics: Metrics, clock: SystemClock, instance: str, log: Any, tracer: OtelTracer | None
) -> _Cluster:
    source = Source(settings.kubeconfig, settings.context)
    connection = Connection(source, USER_AGENT, dict if tracer is None else tracer.headers)
    store = KubernetesStore(connection, metrics, log, clock.monotonic)
    origin = f"the cluster of {source}"
    if not settings.events or settings.role == "reader":
        return _Cluster(store, origin, connection=connection)
    recorder = EventRecorder(connection, metrics, instance, lambda: datetime.now(UTC), clock.monotonic, store.busy)
    return _Cluster(store, origin, connection=connection, recorder=recorder, background={"events": recorder.run})


def _from_files(
    settings: Settings, _metrics: Metrics, clock: SystemClock, _instance: str, _log: Any, _tracer: OtelTracer | None
) -> _Cluster:
    loaded = _load(settings)
    store = EmbeddedStore()
    store.load(loaded.objects)
    play = None if settings.play is None else Play(store, clock, duration=settings.play)
    background = {} if play is None else {"play": play.run}
    standing_at = None if loaded.live else loaded.as_of
    return _Cluster(store, _origin(settings, loaded), standing_at, play, background=background)


def _tracer(settings: Settings) -> OtelTracer | None:
    try:
        return otlp_tracer() if settings.traces == "otlp" else None
    except TracingError as error:
        raise StartError(str(error)) from None


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
