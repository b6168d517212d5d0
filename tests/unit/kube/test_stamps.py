"""Moving a cluster in time."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from berth_server.kube.manifests import LoadedCluster
from berth_server.kube.stamps import brought_to

THEN = datetime(2026, 1, 1, tzinfo=UTC)
NOW = THEN + timedelta(days=1, microseconds=5)


@pytest.mark.parametrize(
    ("raw", "want"),
    [
        pytest.param(
            {
                "metadata": {
                    "creationTimestamp": "2026-01-01T00:00:00Z",
                    "deletionTimestamp": "2026-01-01T01:00:00+01:00",
                }
            },
            {
                "metadata": {
                    "creationTimestamp": "2026-01-02T00:00:00.000005Z",
                    "deletionTimestamp": "2026-01-02T00:00:00.000005Z",
                }
            },
            id="metadata",
        ),
        pytest.param(
            {
                "status": {
                    "conditions": [{"lastProbeTime": "2025-12-31T23:59:00Z"}],
                    "startTime": "2026-01-01T00:00:00Z",
                }
            },
            {
                "status": {
                    "conditions": [{"lastProbeTime": "2026-01-01T23:59:00.000005Z"}],
                    "startTime": "2026-01-02T00:00:00.000005Z",
                }
            },
            id="status-at-any-depth",
        ),
        pytest.param(
            {"metadata": {"annotations": {"since": "2026-01-01T00:00:00Z"}}, "spec": {"time": "2026-01-01T00:00:00Z"}},
            {"metadata": {"annotations": {"since": "2026-01-01T00:00:00Z"}}, "spec": {"time": "2026-01-01T00:00:00Z"}},
            id="what-is-no-stamp-by-its-name",
        ),
        pytest.param({"lastProbeTime": "soon", "fooTime": 7}, {"lastProbeTime": "soon", "fooTime": 7}, id="unparsable"),
        pytest.param(
            {"endTime": "9999-12-31T23:59:59Z"}, {"endTime": "9999-12-31T23:59:59Z"}, id="end-of-the-calendar"
        ),
        pytest.param({"creationTimestamp": None}, {"creationTimestamp": None}, id="null"),
    ],
)
def test_moves_stamps_and_nothing_else(raw: dict[str, Any], want: dict[str, Any]) -> None:
    """All by the same span, exactly, so that every age stays what it was; the input is not changed."""
    before = repr(raw)
    cluster = LoadedCluster([raw], THEN, "--as-of", live=False)
    assert brought_to(cluster, NOW).objects == [want]
    assert repr(raw) == before


def test_the_moment_is_now_and_says_what_it_was() -> None:
    """One line tells both, and time goes on."""
    cluster = brought_to(LoadedCluster([], THEN, "newest lastProbeTime, of Pod n/p", live=False), NOW)
    assert (cluster.as_of, cluster.live) == (NOW, True)
    assert cluster.as_of_origin == "now, all stamps moved from 2026-01-01T00:00:00Z (newest lastProbeTime, of Pod n/p)"
