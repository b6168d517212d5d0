"""The builder against Kubernetes' own: what the Go library v0.37.2 made of random trees.

The answers beside golden/workloadbuilder/main.go are the library's. Where the two differ on purpose is left out of the
trees, and is in the guide for controller authors.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from berth.workload import write
from berth.workload.builder import Builder, BuilderError
from tests.unit.workload_builder.go_trees import item_of, options_of

FILE = Path(__file__).parents[2] / "golden" / "workloadbuilder" / "trees.jsonl"
ANSWERS = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def _without_empty(value: Any) -> Any:
    """Go writes nulls and empty strings where we write nothing."""
    if isinstance(value, dict):
        return {name: _without_empty(item) for name, item in value.items() if item not in (None, "")}
    return [_without_empty(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("answer", [pytest.param(answer, id=str(number)) for number, answer in enumerate(ANSWERS)])
def test_the_same_errors_and_the_same_workload(answer: dict[str, Any]) -> None:
    """Fields, reasons and their order; a wrong call is raised here, and is an InternalError there."""
    tree = answer["tree"]
    builder = Builder(item_of(tree["root"]), options_of(tree))
    try:
        errors = builder.validate(None if tree["old"] is None else item_of(tree["old"]))
        got = [[error.field, str(error.reason)] for error in errors]
    except BuilderError as error:
        got = [[error.field, "InternalError"]]
    assert got == answer["errors"]
    try:
        workload = write(builder.build_workload())
    except BuilderError:
        assert answer["workload"] is None
    else:
        want = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Workload", **answer["workload"]}
        assert _without_empty(workload) == _without_empty(want)


def test_the_trees_reach_every_sort_of_answer() -> None:
    """A table of one sort would prove little."""
    reasons = {reason for answer in ANSWERS for _, reason in answer["errors"]}
    assert reasons == {
        "InternalError",
        *(f"FieldValue{name}" for name in ("Invalid", "Required", "TooMany", "Forbidden")),
    }
    for accepted in (True, False):
        for update in (True, False):
            assert [
                answer
                for answer in ANSWERS
                if (answer["errors"] == []) == accepted and (answer["tree"]["old"] is not None) == update
            ]
    assert [
        answer
        for answer in ANSWERS
        if answer["workload"] and "compositePodGroupTemplates" in answer["workload"]["spec"]
    ]
