"""The example as a program, against an API server on loopback."""

import logging
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from berth.workload import PodGroup, PriorityClass, read_part
from berth.workload.models import Pod
from examples.job_controller.__main__ import main
from tests.fakes.api_server import FakeApiServer
from tests.unit.examples.documented import WORKLOAD
from tests.unit.examples.served import api_server

ROOT = Path(__file__).parents[3]
TRAINING = yaml.safe_load((ROOT / "examples" / "job_controller" / "training.yaml").read_text(encoding="utf-8"))
QUIET = {"metadata": {"name": "quiet"}, "value": 5, "preemptionPolicy": "Never", "globalDefault": True}


def test_one_pass_over_all_jobs(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    """The job of the example gets its tree; one that is wrong is logged with its field, and is no obstacle."""
    good = {**TRAINING, "metadata": {"name": "training", "namespace": "ml", "uid": "u1"}}
    bad = {"metadata": {"name": "bad", "uid": "u2"}, "spec": {"scheduling": {"schedulingPolicy": {}}}}
    unreadable = {"metadata": {"name": "worse"}, "spec": {"parallelism": "four"}}
    token = tmp_path / "token"
    token.write_text("t1\n", encoding="utf-8")
    with api_server(trainingjobs=[bad, unreadable, good], priorityclasses=[]) as (url, handler):
        with caplog.at_level(logging.INFO):
            main(["--server", url, "--namespace", "ml", "--token-file", str(token), "run"])
        assert len(handler.store.list(PodGroup, "ml")) == 2
        assert len(handler.store.list(Pod, "ml")) == 9
        assert {sent for _, _, sent in handler.seen} == {"Bearer t1"}
    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert [line.split(": ")[:2] for line in errors] == [
        ["job ml/bad", "spec.scheduling.schedulingPolicy"],
        ["job ml/worse", "parallelism"],
    ]


def test_the_classes_of_the_cluster_are_read() -> None:
    """Each pass takes them as they are."""
    good = {**TRAINING, "metadata": {"name": "training", "namespace": "ml", "uid": "u1"}}
    with api_server(trainingjobs=[good], priorityclasses=[QUIET]) as (url, handler):
        handler.store = FakeApiServer(classes=[read_part(PriorityClass, QUIET)])
        main(["--server", url, "--namespace", "ml", "run"])
        groups = handler.store.list(PodGroup, "ml")
    assert [group.spec.preemption_policy for group in groups] == ["Never", "Never"]


def test_groups_of_a_workload_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    """By default the Workload's name is the prefix."""
    with api_server() as (url, handler):
        handler.store.create(replace(WORKLOAD, metadata=replace(WORKLOAD.metadata, namespace="ml")))
        main(["--server", url, "--namespace", "ml", "groups", "example-workload", "--prefix", "workload"])
        main(["--server", url, "--namespace", "ml", "groups", "example-workload"])
    assert capsys.readouterr().out.splitlines() == [
        "CompositePodGroup/workload-root",
        "PodGroup/workload-workers",
        "PodGroup/workload-driver",
        "CompositePodGroup/example-workload-root",
        "PodGroup/example-workload-workers",
        "PodGroup/example-workload-driver",
    ]
