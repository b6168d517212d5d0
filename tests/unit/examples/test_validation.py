"""The job's own rules and the builder's together, against an API server's verdicts on Jobs."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from examples.job_controller.job import read_job
from examples.job_controller.validation import validate_job
from tests.unit.examples.jobs import gang, job, rack, role, tree
from tests.vectors.workload_api import FOLDER

VERDICTS = yaml.safe_load((FOLDER / "job.yaml").read_text(encoding="utf-8"))


def _shown(errors: Any) -> list[tuple[str, str]]:
    return sorted((error.field, error.reason.removeprefix("FieldValue")) for error in errors)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in VERDICTS])
def test_verdicts_of_an_api_server_on_jobs(case: dict[str, Any]) -> None:
    """A job without roles is judged as the Job of Kubernetes v1.37 is."""
    old = read_job(case["old"]) if "old" in case else None
    want = sorted((cause["field"], cause["reason"].removeprefix("FieldValue")) for cause in case["causes"])
    assert _shown(validate_job(read_job(case["object"]), old)) == want


def test_there_are_verdicts() -> None:
    """The corpus is where it should be."""
    assert len(VERDICTS) > 10
    assert Path(FOLDER).name == "workload-api"


WORKERS = role("workers", 8, schedulingPolicy=gang(8), schedulingConstraints=rack())
DRIVER = role("driver")
WHOLE = {"schedulingPolicy": {"gang": {"minGroupCount": 2}}}


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param(tree(WORKERS, DRIVER, scheduling=WHOLE), [], id="a-proper-tree"),
        pytest.param(tree(role("")), [("spec.roles[0].name", "Required")], id="role-without-name"),
        pytest.param(tree(role("root")), [("spec.roles[0].name", "Invalid")], id="the-name-of-the-whole"),
        pytest.param(tree(DRIVER, DRIVER), [("spec.roles[1]", "Duplicate")], id="role-twice"),
        pytest.param(tree(role("Driver")), [("spec.roles[0].scheduling", "Invalid")], id="name-is-no-label"),
        pytest.param(
            tree(*[role(f"r{n}") for n in range(9)]), [("spec.scheduling", "TooMany")], id="more-roles-than-templates"
        ),
        pytest.param(
            tree(
                role("a", 2, schedulingPolicy=gang(3)), scheduling={"schedulingPolicy": {"gang": {"minGroupCount": 0}}}
            ),
            [
                ("spec.roles[0].scheduling.schedulingPolicy.gang.minCount", "Invalid"),
                ("spec.scheduling.schedulingPolicy.gang.minGroupCount", "Invalid"),
            ],
            id="counts",
        ),
        pytest.param(
            {"scheduling": {"schedulingPolicy": gang(2)}},
            [("spec.scheduling.schedulingPolicy.gang.minCount", "Invalid")],
            id="unset-parallelism-is-1",
        ),
    ],
)
def test_create(spec: dict[str, Any], want: list[tuple[str, str]]) -> None:
    """Errors name the fields of the controller's own API."""
    assert _shown(validate_job(job(spec))) == want


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(
            tree(WORKERS, DRIVER),
            tree(DRIVER, role("workers", 8, schedulingPolicy=gang(4), schedulingConstraints=rack())),
            [],
            id="order-and-count-are-open",
        ),
        pytest.param(tree(WORKERS), tree(WORKERS, DRIVER), [("spec.roles[1]", "Forbidden")], id="role-added"),
        pytest.param(tree(WORKERS, DRIVER), tree(WORKERS), [("spec.roles", "Forbidden")], id="role-removed"),
        pytest.param(
            {"scheduling": {}}, tree(WORKERS), [("spec.roles[0]", "Forbidden")], id="roles-come-to-a-job-without"
        ),
        pytest.param(
            tree(WORKERS),
            tree(role("workers", 8)),
            [("spec.roles[0].scheduling", "Invalid")],
            id="scheduling-of-a-role-gone",
        ),
        pytest.param(
            tree(DRIVER),
            tree(role("driver", schedulingPolicy=gang(0))),
            [("spec.roles[0].scheduling", "Invalid")],
            id="scheduling-of-a-role-came-and-only-that-is-reported",
        ),
        pytest.param(
            tree(DRIVER, scheduling=WHOLE),
            tree(DRIVER, scheduling={"schedulingPolicy": {"gang": {"minGroupCount": 1}}}),
            [("spec.scheduling.schedulingPolicy.gang.minGroupCount", "Invalid")],
            id="no-composite-group-could-follow",
        ),
        pytest.param(
            tree(role("a", schedulingConstraints=rack())),
            tree(role("a", schedulingConstraints=rack("zone"))),
            [("spec.roles[0].scheduling.schedulingConstraints", "Invalid")],
            id="key-of-a-role",
        ),
    ],
)
def test_update(old: dict[str, Any], new: dict[str, Any], want: list[tuple[str, str]]) -> None:
    """What the Workload's templates cannot follow is refused where the user wrote it."""
    assert _shown(validate_job(job(new), job(old))) == want
