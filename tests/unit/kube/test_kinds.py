"""Kinds: one name for one API."""

from typing import Any

import pytest

from berth_server.kube.kinds import kind_of, store_name


@pytest.mark.parametrize(
    ("raw", "want"),
    [
        pytest.param({"kind": "Run", "apiVersion": "kruntimes.io/v1alpha1"}, "Run", id="ours"),
        pytest.param({"kind": "Run", "apiVersion": "kruntimes.io/v2"}, "Run", id="a-later-version-of-ours"),
        pytest.param({"kind": "Run", "apiVersion": "tekton.dev/v1"}, "Run.tekton.dev", id="of-another-group"),
        pytest.param({"kind": "Run"}, "Run", id="no-version"),
        pytest.param({"kind": "Run", "apiVersion": None}, "Run", id="null-version"),
        pytest.param({"kind": "Pod", "apiVersion": "v1"}, "Pod", id="core"),
        pytest.param({"kind": "Pod", "apiVersion": "fakes.dev/v1"}, "Pod.fakes.dev", id="a-core-kind-of-another-group"),
        pytest.param(
            {"kind": "PodGroup", "apiVersion": "scheduling.k8s.io/v1beta1"}, "PodGroup", id="kubernetes-group"
        ),
        pytest.param(
            {"kind": "PodGroup", "apiVersion": "scheduling.volcano.sh/v1beta1"},
            "PodGroup.scheduling.volcano.sh",
            id="volcano-group",
        ),
        pytest.param({"kind": "ConfigMap", "apiVersion": "v1"}, "ConfigMap", id="unknown-core"),
        pytest.param({"kind": "Deployment", "apiVersion": "apps/v1"}, "Deployment.apps", id="unknown"),
    ],
)
def test_store_name(raw: dict[str, Any], want: str) -> None:
    """Objects of two APIs never share a name, and those of two versions of one API do."""
    assert store_name(raw) == want


def test_an_unknown_kind_is_kept_whole() -> None:
    """Nothing says that its status is a subresource, so nothing is taken from it."""
    kind = kind_of("Deployment.apps")
    assert (kind.namespaced, kind.has_status) == (True, False)
