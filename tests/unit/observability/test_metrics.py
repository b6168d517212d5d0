"""Metrics: names that dashboards rely on, and label sets that can't grow."""

from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from berth_server.observability.metrics import Metrics

WANT_FAMILIES = {
    "grpc_server_handled": "counter",
    "grpc_server_handling_seconds": "histogram",
    "kruntimes_scheduler_sync": "counter",
    "kruntimes_scheduler_sync_duration_seconds": "histogram",
    "kruntimes_scheduler_run_queue_duration_seconds": "histogram",
    "kruntimes_scheduler_no_pods": "counter",
    "kruntimes_scheduler_filter_rejections": "counter",
    "kruntimes_scheduler_reservation_conflicts": "counter",
    "kruntimes_scheduler_pending_run_wakeups": "counter",
    "berth_queue_activations": "counter",
    "berth_scheduling_cycle_duration_seconds": "histogram",
    "berth_pending": "gauge",
    "berth_assumed": "gauge",
    "berth_assumed_oldest_age_seconds": "gauge",
    "berth_snapshot_age_seconds": "gauge",
    "berth_inflight_events": "gauge",
    "berth_leader": "gauge",
    "berth_overcommitted_candidates": "gauge",
    "berth_events": "counter",
    "berth_scheduled_on_missing_pod": "gauge",
    "berth_undecodable_objects": "gauge",
    "berth_watch_last_event_age_seconds": "gauge",
    "berth_watch_restarts": "counter",
    "berth_build_info": "gauge",
}


@pytest.fixture
def registry() -> CollectorRegistry:
    """A registry of the test's own."""
    return CollectorRegistry()


@pytest.fixture
def metrics(registry: CollectorRegistry) -> Metrics:
    """Metrics with one plugin's reasons and the build said."""
    metrics = Metrics(registry, rejections=[("LeastLoaded", "Full"), ("LeastLoaded", "Stale")])
    metrics.set_build("1.2.3", "abc")
    return metrics


@pytest.mark.usefixtures("metrics")
def test_registers_every_family(registry: CollectorRegistry) -> None:
    """Names and types are a promise to dashboards and alerts."""
    assert {family.name: family.type for family in registry.collect()} == WANT_FAMILIES


@pytest.mark.parametrize(
    ("family", "key", "series", "labels"),
    [
        pytest.param(
            "filter_rejections",
            ("LeastLoaded", "Full"),
            "kruntimes_scheduler_filter_rejections_total",
            {"plugin": "LeastLoaded", "reason": "Full"},
            id="rejections",
        ),
        pytest.param("sync", "no_pods", "kruntimes_scheduler_sync_total", {"result": "no_pods"}, id="sync"),
        pytest.param(
            "reservation_conflicts",
            "bind",
            "kruntimes_scheduler_reservation_conflicts_total",
            {"stage": "bind"},
            id="conflicts",
        ),
        pytest.param(
            "pending_run_wakeups",
            "runtime_pod",
            "kruntimes_scheduler_pending_run_wakeups_total",
            {"source": "runtime_pod"},
            id="wakeups",
        ),
        pytest.param(
            "queue_activations", "workspace", "berth_queue_activations_total", {"cause": "workspace"}, id="activations"
        ),
        pytest.param("pending", "backoff", "berth_pending", {"queue": "backoff"}, id="pending"),
        pytest.param("undecodable_objects", "Run", "berth_undecodable_objects", {"resource": "runs"}, id="undecodable"),
        pytest.param(
            "watch_last_event_age", "Pod", "berth_watch_last_event_age_seconds", {"resource": "pods"}, id="watch-age"
        ),
        pytest.param(
            "watch_restarts",
            ("Run", "gone"),
            "berth_watch_restarts_total",
            {"resource": "runs", "cause": "gone"},
            id="watch-restarts",
        ),
    ],
)
def test_labels_are_closed(
    registry: CollectorRegistry, metrics: Metrics, family: str, key: Any, series: str, labels: dict[str, str]
) -> None:
    """Every allowed series exists from the start at 0 and counts; a value outside the set is a bug, not a series."""
    children = getattr(metrics, family)
    before = len(list(_samples(registry)))
    assert registry.get_sample_value(series, labels) == 0
    children[key].inc(3)
    assert registry.get_sample_value(series, labels) == 3
    with pytest.raises(KeyError):
        children["made up"]
    assert len(list(_samples(registry))) == before


def test_phases_of_a_cycle_are_timed(registry: CollectorRegistry, metrics: Metrics) -> None:
    """Histograms begin at half a millisecond."""
    metrics.cycle_duration["decide"].observe(0.0004)
    name = "berth_scheduling_cycle_duration_seconds"
    assert registry.get_sample_value(f"{name}_bucket", {"phase": "decide", "le": "0.0005"}) == 1
    assert registry.get_sample_value(f"{name}_count", {"phase": "bind"}) == 0


def test_calls_are_counted_by_code(registry: CollectorRegistry, metrics: Metrics) -> None:
    """A code makes its series when it first occurs."""
    observe = metrics.call_observer("s", "m")
    labels = {"grpc_service": "s", "grpc_method": "m"}
    assert registry.get_sample_value("grpc_server_handled_total", labels | {"grpc_code": "OK"}) is None
    observe("OK", 0.002)
    observe("OK", 0.002)
    assert registry.get_sample_value("grpc_server_handled_total", labels | {"grpc_code": "OK"}) == 2
    assert registry.get_sample_value("grpc_server_handling_seconds_count", labels) == 2


@pytest.mark.usefixtures("metrics")
def test_tells_the_build(registry: CollectorRegistry) -> None:
    """The info metric is 1, its labels say what runs."""
    (sample,) = [sample for sample in _samples(registry) if sample.name == "berth_build_info"]
    assert sample.value == 1
    assert (sample.labels["version"], sample.labels["revision"]) == ("1.2.3", "abc")
    assert set(sample.labels) == {"version", "revision", "python", "grpcio"}


def _samples(registry: CollectorRegistry) -> Any:
    return (sample for family in registry.collect() for sample in family.samples)
