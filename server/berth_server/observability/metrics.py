"""Every metric of the server, in one place, on the registry that it is given.

Labels are closed sets: each family with labels is a mapping that holds one child per allowed value, made at start, so a
value outside the set is a KeyError (a bug), never a new series. No label carries a name, a namespace or a resource.
"""

import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version as version_of
from itertools import product
from types import MappingProxyType
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

CALL_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
WAIT_BUCKETS: Final = (0.01, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 86_400.0)

SYNC_RESULTS: Final = ("scheduled", "no_pods", "selection_error", "invalid", "cancelled", "conflict", "error")
CONFLICT_STAGES: Final = ("reserve", "bind")
WAKEUP_SOURCES: Final = ("runtime_pod", "capacity_released")
ACTIVATION_CAUSES: Final = (
    "run_eligible",
    "run_changed",
    "reservation_ended",
    "affinity_target",
    "anti_affine_run_gone",
    "workspace",
    "sweep",
)
CYCLE_PHASES: Final = ("decide", "bind")
QUEUES: Final = ("active", "backoff", "unschedulable", "gated")
RESOURCE_OF_KIND: Final = MappingProxyType(
    {"Run": "runs", "Pod": "pods", "PersistentWorkspace": "persistentworkspaces", "Node": "nodes"}
)
WATCH_RESTART_CAUSES: Final = ("gone", "error", "closed")
EVENT_RESULTS: Final = ("sent", "dropped", "failed")

ObserveCall = Callable[[str, float], None]


class Metrics:
    """The families, by attribute. Names with `kruntimes_scheduler_` are those of the scheduler replaced."""

    def __init__(self, registry: CollectorRegistry, *, rejections: Iterable[tuple[str, str]] = ()) -> None:
        """Register all families. `rejections`: every (plugin, reason) that can occur."""
        self._registry = registry
        self._add_calls()
        self._add_scheduling(rejections)
        self._add_state()
        self._add_watches()

    def set_build(self, version: str, revision: str = "") -> None:
        """Say which build runs, and on what."""
        labels = ["version", "revision", "python", "grpcio"]
        info = Gauge("berth_build_info", "Always 1; the labels tell the build.", labels, registry=self._registry)
        info.labels(version, revision, platform.python_version(), version_of("grpcio")).set(1)

    def call_observer(self, service: str, method: str) -> ObserveCall:
        """Return what records one call of a method that the server has: its code (as in NOT_FOUND) and its seconds.

        The caller guarantees that the method exists: names that a client made up must not become series.
        """
        handling = self._grpc_handling.labels(service, method)
        handled: dict[str, Counter] = {}

        def observe(code: str, seconds: float) -> None:
            counter = handled.get(code)
            if counter is None:
                counter = handled[code] = self._grpc_handled.labels(service, method, code)
            counter.inc()
            handling.observe(seconds)

        return observe

    def _add_calls(self) -> None:
        labels = ["grpc_service", "grpc_method"]
        self._grpc_handled = Counter(
            "grpc_server_handled_total", "Calls that ended, by code.", [*labels, "grpc_code"], registry=self._registry
        )
        self._grpc_handling = Histogram(
            "grpc_server_handling_seconds",
            "From the request in hand to the answer.",
            labels,
            buckets=CALL_BUCKETS,
            registry=self._registry,
        )

    def _add_scheduling(self, rejections: Iterable[tuple[str, str]]) -> None:
        prefix = "kruntimes_scheduler_"
        self.sync = self._counters(f"{prefix}sync_total", "Attempts that ended.", "result", SYNC_RESULTS)
        self.sync_duration = self._histogram(f"{prefix}sync_duration_seconds", "One attempt.", CALL_BUCKETS)
        self.run_queue_duration = self._histogram(
            f"{prefix}run_queue_duration_seconds", "From a Run's creation to its assignment.", WAIT_BUCKETS
        )
        self.no_pods = self._counter(f"{prefix}no_pods_total", "Attempts that found no feasible Runtime Pod.")
        family = Counter(
            f"{prefix}filter_rejections_total",
            "Runtime Pods rejected in a cycle of the queue.",
            ["plugin", "reason"],
            registry=self._registry,
        )
        self.filter_rejections: Mapping[tuple[str, str], Counter] = {pair: family.labels(*pair) for pair in rejections}
        self.reservation_conflicts = self._counters(
            f"{prefix}reservation_conflicts_total", "Decisions lost to a newer state.", "stage", CONFLICT_STAGES
        )
        self.pending_run_wakeups = self._counters(
            f"{prefix}pending_run_wakeups_total", "Waiting Runs activated by new room.", "source", WAKEUP_SOURCES
        )
        self.queue_activations = self._counters(
            "berth_queue_activations_total", "Waiting Runs activated by anything else.", "cause", ACTIVATION_CAUSES
        )
        phases = Histogram(
            "berth_scheduling_cycle_duration_seconds",
            "One phase of a cycle.",
            ["phase"],
            buckets=CALL_BUCKETS,
            registry=self._registry,
        )
        self.cycle_duration: Mapping[str, Histogram] = {phase: phases.labels(phase) for phase in CYCLE_PHASES}

    def _add_state(self) -> None:
        self.pending = self._gauges("berth_pending", "Keys of the queue.", "queue", QUEUES)
        self.assumed = self._gauge("berth_assumed", "Reservations that are not yet seen as assigned.")
        self.assumed_oldest_age = self._gauge("berth_assumed_oldest_age_seconds", "Age of the oldest of them.")
        self.snapshot_age = self._gauge("berth_snapshot_age_seconds", "Since the view was last known to be complete.")
        self.inflight_events = self._gauge("berth_inflight_events", "Events kept for attempts in flight.")
        self.leader = self._gauge("berth_leader", "1 on the replica that decides.")
        self.overcommitted_candidates = self._gauge(
            "berth_overcommitted_candidates", "Candidates whose use exceeds their capacity."
        )
        self.events = self._counters("berth_events_total", "Kubernetes Events by fate.", "result", EVENT_RESULTS)
        self.scheduled_on_missing_pod = self._gauge(
            "berth_scheduled_on_missing_pod", "Runs in phase Scheduled whose Runtime Pod is gone."
        )

    def _add_watches(self) -> None:
        ages = Gauge(
            "berth_watch_last_event_age_seconds", "Since the last event.", ["resource"], registry=self._registry
        )
        self.watch_last_event_age: Mapping[str, Gauge] = {
            kind: ages.labels(resource) for kind, resource in RESOURCE_OF_KIND.items()
        }
        undecodable = Gauge(
            "berth_undecodable_objects",
            "Objects that can't be decoded as they are now.",
            ["resource"],
            registry=self._registry,
        )
        self.undecodable_objects: Mapping[str, Gauge] = {
            kind: undecodable.labels(resource) for kind, resource in RESOURCE_OF_KIND.items()
        }
        restarts = Counter(
            "berth_watch_restarts_total", "Watches opened anew.", ["resource", "cause"], registry=self._registry
        )
        self.watch_restarts: Mapping[tuple[str, str], Counter] = {
            (kind, cause): restarts.labels(RESOURCE_OF_KIND[kind], cause)
            for kind, cause in product(RESOURCE_OF_KIND, WATCH_RESTART_CAUSES)
        }

    def _counter(self, name: str, text: str) -> Counter:
        return Counter(name, text, registry=self._registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(name, text, registry=self._registry)

    def _histogram(self, name: str, text: str, buckets: Sequence[float]) -> Histogram:
        return Histogram(name, text, buckets=buckets, registry=self._registry)

    def _counters(self, name: str, text: str, label: str, values: Iterable[str]) -> Mapping[str, Counter]:
        family = Counter(name, text, [label], registry=self._registry)
        return {value: family.labels(value) for value in values}

    def _gauges(self, name: str, text: str, label: str, values: Iterable[str]) -> Mapping[str, Gauge]:
        family = Gauge(name, text, [label], registry=self._registry)
        return {value: family.labels(value) for value in values}
