"""Invariants of the Workload API library over random objects and random JSON."""

import json
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berth.workload import CompositePodGroup, ObjectMeta, PodGroup, PriorityClass, Workload, normalise, review, write
from tests.property.workload_objects import any_json, composite_pod_groups, damaged, pod_groups, workloads

SEVERAL = settings(max_examples=60, deadline=None)
VERSIONED = [
    pytest.param("v1beta1", workloads() | pod_groups(), id="v1beta1"),
    pytest.param("v1alpha3", workloads() | pod_groups() | composite_pod_groups, id="v1alpha3"),
    pytest.param("v1alpha2", workloads(plain=True) | pod_groups(plain=True), id="v1alpha2"),
]


@pytest.mark.parametrize(("version", "objects"), VERSIONED)
@SEVERAL
@given(data=st.data())
def test_reading_what_was_written_gives_the_same(data: st.DataObject, version: str, objects: Any) -> None:
    """No version loses anything that it can say; nothing in a written object is unknown to a reader."""
    obj = data.draw(objects)
    body = json.loads(json.dumps(write(obj, version)))
    assert normalise(body, unknown="refuse") == obj


@SEVERAL
@given(obj=workloads() | pod_groups() | composite_pod_groups, extra=st.dictionaries(st.just("newField"), any_json))
def test_unknown_fields_survive_where_they_are_kept(obj: Any, extra: dict[str, Any]) -> None:
    """What a later version adds comes back from a reader that keeps it, at its place."""
    body = write(obj)
    body["spec"] |= extra
    assert write(normalise(body, unknown="keep")) == body
    assert normalise(body, unknown="drop") == obj


@SEVERAL
@given(obj=workloads() | pod_groups() | composite_pod_groups)
def test_valid_objects_are_accepted_and_stored_as_they_are(obj: Workload | PodGroup | CompositePodGroup) -> None:
    """A create of a valid object is accepted; what is stored differs by what the server fills in or drops only."""
    classes = _suitable_classes(obj)
    answer = review("create", obj, version="v1alpha3", classes=classes, rules="server")
    assert answer.code == 201, answer.message
    stored = normalise(answer.object, unknown="refuse")
    if isinstance(obj, Workload):
        assert stored.spec == obj.spec
    again = review("update", stored, version="v1alpha3", old=stored, classes=classes, rules="server")
    assert again.code == 200, again.message
    assert normalise(again.object) == stored


@SEVERAL
@given(data=st.data(), objects=st.sampled_from([workloads(), pod_groups(), composite_pod_groups]))
def test_damaged_objects_get_an_answer(data: st.DataObject, objects: Any) -> None:
    """Whatever is wrong with an object or with the stored one, there is an answer, and a 422 says where it is wrong."""
    good = write(data.draw(objects), None)
    bad = data.draw(damaged(json.loads(json.dumps(good))))
    version = good["apiVersion"].partition("/")[2]
    gates = data.draw(st.sampled_from([("GenericWorkload",), ("GenericWorkload", "TopologyAwareWorkloadScheduling")]))
    for operation, new, old in (
        ("create", bad, None),
        ("update", bad, good),
        ("update", good, bad),
        ("status", bad, good),
    ):
        _assert_answered(operation, new, version, old=old)
        _assert_answered(operation, new, version, old=old, gates=gates)


@SEVERAL
@given(kind=st.sampled_from(["Workload", "PodGroup", "CompositePodGroup", "PriorityClass", "Pod"]), body=any_json)
def test_any_json_gets_an_answer(kind: str, body: Any) -> None:
    """Random JSON is answered, as the object itself and as each of its parts."""
    for new in (body, {"kind": kind, "metadata": body}, {"kind": kind, "metadata": {"name": "a"}, "spec": body}):
        _assert_answered("create", new, "v1alpha3", old=None)
        _assert_answered("status", new, "v1alpha3", old=body)


SHAPES = [
    pytest.param(lambda n: {"spec": {"podGroupTemplates": [{"name": f"t{i}"} for i in range(n)]}}, id="templates"),
    pytest.param(lambda n: {"spec": {"podGroupTemplates": [{"name": "t", "x": 1}] * n}}, id="same-name-and-unknown"),
    pytest.param(lambda n: {"spec": _wide_trees(n)}, id="trees"),
    pytest.param(lambda n: {"metadata": {"labels": {f"k{i}": "b c" for i in range(n)}}}, id="labels"),
    pytest.param(lambda n: {"metadata": {"name": "a." * 30 * n, "ownerReferences": [{}] * n}}, id="name-and-owners"),
    pytest.param(lambda n: {"spec": {"x": [[{}]] * n}, **{f"u{i}": 1 for i in range(n)}}, id="unknown-fields"),
]


@pytest.mark.parametrize("shape", SHAPES)
def test_work_grows_with_the_object(shape: Callable[[int], dict[str, Any]]) -> None:
    """Four times the object is at most about four times the work, counted in calls."""
    small, large = (_calls(partial(_review_workload, shape(n))) for n in (500, 2000))
    assert large < 4.5 * small


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_ten_megabytes_get_an_answer(shape: Callable[[int], dict[str, Any]]) -> None:
    """An object of 10 MB is answered like any other; the time limit of a test is far away."""
    n = 1000
    n = n * 10_000_000 // len(json.dumps(shape(n)))
    _review_workload(shape(n))


@pytest.mark.parametrize("depth", [10, 100, 100_000])
def test_deep_nesting_gets_an_answer(depth: int) -> None:
    """Trees and unknown fields of any depth are answered without running out of stack."""
    tree: dict[str, Any] = {"name": "a", "podGroupTemplates": [{"name": "b"}]}
    opaque: list[Any] = []
    for _ in range(depth):
        tree = {"name": "a", "compositePodGroupTemplates": [tree]}
        opaque = [opaque]
    answer = _review_workload({"spec": {"compositePodGroupTemplates": [tree], "x": opaque}})
    assert answer.code == (422 if depth == 10 else 400)


def _wide_trees(n: int) -> dict[str, Any]:
    return {
        "compositePodGroupTemplates": [
            {"name": f"c{i}", "podGroupTemplates": [{"name": f"l{i}-{j}"} for j in range(n // 8)]} for i in range(8)
        ]
    }


def _review_workload(body: dict[str, Any]) -> Any:
    answer = review("create", {"kind": "Workload", **body}, version="v1beta1")
    assert not answer.accepted
    return answer


def _assert_answered(operation: Any, new: Any, version: str, *, old: Any, **how: Any) -> None:
    answer = review(operation, new, version=version, old=old, **how)
    assert answer.code in {200, 201, 400, 403, 404, 409, 422, 500}
    assert bool(answer.causes) == (answer.code == 422)
    assert all(cause.field for cause in answer.causes)
    assert (answer.object is not None) == answer.accepted
    json.dumps(answer.object)


def _suitable_classes(obj: Workload | PodGroup | CompositePodGroup) -> list[PriorityClass]:
    """Classes under which admission has nothing against a group."""
    if isinstance(obj, Workload):
        return []
    spec = obj.spec
    return [
        PriorityClass(
            metadata=ObjectMeta(name=spec.priority_class_name or "standard"),
            value=spec.priority or 0,
            global_default=True,
            preemption_policy=spec.preemption_policy,
        )
    ]


def _calls(work: Callable[[], Any]) -> int:
    """How many Python and C functions the work calls."""
    count = 0

    def tick(_: Any, event: str, __: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(tick)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
