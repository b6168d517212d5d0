"""The quickstart cluster does what its comments say, as the oracle judges it."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from berth_server.kube.manifests import LoadedCluster, load_cluster
from tests.oracle.rules import judge

QUICKSTART = Path(__file__).parents[3] / "examples" / "quickstart.yaml"

WANT_PLACED = {
    "data/feature-reader-1": "python-4",
    "data/feature-reader-2": "python-4",
    "data/feature-reader-3": "python-4",
    "data/notebook-alice": "python-2",
    "data/infer-batch": "gpu-3",
}
WANT_WAITING = {
    "data/aggregate-decade": "InsufficientCapacity",
    "data/transcode-intro": "ResourceNotAdvertised",
    "data/cache-warmer": "UnsatisfiedRunAffinity",
    "data/notebook-bob": "WorkspaceLost",
    "data/notebook-dave": "WorkspaceMismatch",
    "data/finetune-large": "InsufficientCapacity",
    "data/pretrain-giant": "InsufficientCapacity",
    "web/bundle-assets": "InsufficientCapacity",
    "web/cdn-warmer": "UnsatisfiedRunAffinity",
    "web/resize-images": "NoRuntimePods",
}
"""The reason that counts most."""
WANT_INELIGIBLE = {
    "data/import-flaky": "RetryDelay",
    "data/changed-my-mind": "Cancelled",
    "data/half-a-run": "InvalidResources",
    "data/in-nothing": "InvalidAffinity",
    "data/workspace-no-name": "InvalidWorkspaceReference",
    "data/one-per-zone": "UnsupportedField",
}


class Outcome:
    """Every Run of the example judged, and placed where it can be, in order of creation."""

    def __init__(self, cluster: LoadedCluster) -> None:
        kinds = {"Run", "Pod", "PersistentWorkspace", "Node"}
        self.objects = [raw for raw in json.loads(json.dumps(cluster.objects)) if raw["kind"] in kinds]
        self.eligibility: dict[str, str] = {}
        self.placed: dict[str, str] = {}
        self.messages: dict[str, str] = {}
        self.rejections: dict[str, dict[str, tuple[str, str]]] = {}
        runs = sorted(self.of("Run"), key=lambda raw: (raw["metadata"]["creationTimestamp"], raw["metadata"]["uid"]))
        for run in runs:
            self._place(run, cluster.as_of)

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the objects of a kind."""
        return [raw for raw in self.objects if raw["kind"] == kind]

    def _place(self, run: dict[str, Any], as_of: datetime) -> None:
        namespace, name = run["metadata"]["namespace"], run["metadata"]["name"]
        key = f"{namespace}/{name}"
        verdict = judge(self.objects, as_of, (namespace, name))
        self.eligibility[key] = verdict.eligibility
        if verdict.eligibility != "Eligible":
            return
        self.rejections[key] = verdict.rejections
        if verdict.chosen is None:
            self.messages[key] = verdict.message
            return
        self.placed[key] = verdict.chosen
        uid = f"{namespace}-{verdict.chosen}"
        run["status"] = {"phase": "Scheduled", "attempt": 1, "assignedPod": verdict.chosen, "assignedPodUID": uid}


@pytest.fixture(scope="module")
def cluster() -> LoadedCluster:
    """The example as the server loads it."""
    return load_cluster(str(QUICKSTART))


@pytest.fixture(scope="module")
def outcome(cluster: LoadedCluster) -> Outcome:
    """What becomes of its Runs."""
    return Outcome(cluster)


def test_its_clock_stands_where_it_says(cluster: LoadedCluster) -> None:
    """The newest heartbeat, whatever today is."""
    assert cluster.as_of == datetime(2026, 1, 1, tzinfo=UTC)
    assert cluster.as_of_origin == "newest lastProbeTime, of Pod data/python-3"


def test_pods_are_named_by_their_uids(outcome: Outcome) -> None:
    """What refers to a Pod refers to one that is there, but for the workspace whose Pod is gone on purpose."""
    uids = {raw["metadata"]["uid"] for raw in outcome.of("Pod")}
    assigned = {
        raw["status"]["assignedPodUID"] for raw in outcome.of("Run") if "assignedPodUID" in raw.get("status", {})
    }
    bound = {raw["status"].get("boundPodUID") for raw in outcome.of("PersistentWorkspace")} - {None}
    assert assigned <= uids
    assert bound - uids == {"data-python-9"}


def test_what_waits_waits_for_the_reason_in_its_comment(outcome: Outcome) -> None:
    """These Runs and no others."""
    # The first word with a capital letter: "0/8 runtime pods: 6 InsufficientCapacity, 1 StaleHeartbeat".
    leading = {key: re.findall(r"[A-Z]\w+", message)[0] for key, message in outcome.messages.items()}
    assert leading == WANT_WAITING


def test_what_takes_no_part_takes_none_for_the_reason_in_its_comment(outcome: Outcome) -> None:
    """These Runs, and those that are under way or over."""
    others = {
        key: why for key, why in outcome.eligibility.items() if why not in {"Eligible", "AlreadyAssigned", "Terminal"}
    }
    assert others == WANT_INELIGIBLE


def test_what_is_drawn_to_a_pod_goes_there(outcome: Outcome) -> None:
    """By affinity, by its workspace, or because only there is room."""
    assert {key: outcome.placed[key] for key in WANT_PLACED} == WANT_PLACED


def test_a_cohort_is_together_and_replicas_are_apart(outcome: Outcome) -> None:
    """All of the cohort are placed on one Pod; no two replicas are; preferences are met."""
    replicas = {outcome.placed[f"data/replica-{index}"] for index in range(1, 5)}
    assert len({outcome.placed[f"data/sweep-{index}"] for index in range(1, 4)}) == 1
    assert len(replicas) == 4
    assert outcome.placed["data/scorer-near"] in replicas
    assert outcome.placed["data/scorer-alone"] not in replicas


def test_each_odd_pod_rejects_for_the_reason_in_its_comment(outcome: Outcome) -> None:
    """The drained, the silent, the unready one, and the one that another Run keeps to itself."""
    plain = outcome.rejections["data/etl-orders"]
    assert {pod: reason for pod, (_, reason) in plain.items()} == {
        "python-7": "InsufficientCapacity",
        "python-8": "StaleHeartbeat",
    }
    assert outcome.rejections["data/train-vision-1"]["gpu-4"][1] == "RuntimePodNotReady"
    assert outcome.rejections["data/ingest-follower"]["python-5"][1] == "ExistingRunAntiAffinity"
    assert outcome.rejections["data/notebook-alice"]["python-1"][1] == "WorkspacePinned"


def test_it_is_as_large_as_the_readme_says(outcome: Outcome) -> None:
    """The table of examples counts right."""
    text = (QUICKSTART.parent / "README.md").read_text(encoding="utf-8")
    assert f"{len(outcome.of('Pod'))} Runtime Pods and {len(outcome.of('Run'))} Runs" in text
