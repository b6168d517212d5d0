"""The test cluster itself: it serves, and it validates."""

import urllib.error
from typing import Any

import pytest

from tests.cluster.processes import Cluster

pytestmark = pytest.mark.cluster

RUNS = "/apis/kruntimes.io/v1alpha1/namespaces/default/runs"


def run(**spec: Any) -> dict[str, Any]:
    """Return a Run's manifest without a name of its own."""
    metadata = {"generateName": "validated-"}
    return {"apiVersion": "kruntimes.io/v1alpha1", "kind": "Run", "metadata": metadata, "spec": spec}


def terms(count: int) -> dict[str, Any]:
    """Return a required anti-affinity of so many terms."""
    term = {"topologyKey": "kruntimes.io/runtime-pod", "labelSelector": {"matchLabels": {"app": "a"}}}
    return {"runAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term] * count}}


def test_it_is_the_pinned_version(shared_cluster: Cluster) -> None:
    """The binary says which release it is."""
    assert shared_cluster.call("GET", "/version")["gitVersion"] == "v1.37.2"


@pytest.mark.parametrize(
    ("spec", "want_code"),
    [
        pytest.param({"runtime": "python"}, 201, id="least"),
        pytest.param({"runtime": "python", "resources": {"requests": {"gpu": 1, "mem": "2Gi"}}}, 201, id="requests"),
        pytest.param({}, 422, id="no runtime"),
        pytest.param({"runtime": ""}, 422, id="empty runtime"),
        pytest.param({"runtime": "p" * 64}, 422, id="runtime no label value"),
        pytest.param({"runtime": "python", "affinity": terms(32)}, 201, id="32 terms"),
        pytest.param({"runtime": "python", "affinity": terms(33)}, 422, id="33 terms"),
        pytest.param({"runtime": "python", "cancelRequested": "yes"}, 422, id="wrong type"),
    ],
)
def test_runs_are_validated(shared_cluster: Cluster, spec: dict[str, Any], want_code: int) -> None:
    """The schema refuses what kruntimes' does."""
    try:
        shared_cluster.call("POST", RUNS, run(**spec))
        code = 201
    except urllib.error.HTTPError as error:
        code = error.code
    assert code == want_code
