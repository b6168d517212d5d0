"""What the API server makes of built objects: the rules that a controller author meets first, one by one."""

from typing import Any

import pytest
from msgspec.structs import replace

from berth.workload import (
    CompositePodGroupTemplate,
    ObjectMeta,
    PodGroup,
    PodGroupSpec,
    PodGroupTemplate,
    PriorityClass,
    SchedulingConstraints,
    TopologyConstraint,
    TypedLocalObjectReference,
    Workload,
    WorkloadSpec,
    basic,
    claim,
    composite_basic,
    composite_gang,
    gang,
    review,
    topology,
    write,
)

Causes = list[tuple[str, str]]


def _class(name: str, value: int, **fields: Any) -> PriorityClass:
    return PriorityClass(metadata=ObjectMeta(name=name), value=value, **fields)


HIGH = _class("high", 1_000_000)
STANDARD = _class("standard", 0, global_default=True)
MODEST = _class("modest", 500, global_default=True)
QUIET = _class("quiet", 1_000_000, preemption_policy="Never")


def _group(**spec: Any) -> PodGroup:
    return PodGroup(metadata=ObjectMeta(name="job-1"), spec=PodGroupSpec(scheduling_policy=basic(), **spec))


@pytest.mark.parametrize(
    ("group", "classes", "want"),
    [
        pytest.param(_group(priority_class_name="high"), [], (403, None, None), id="class-is-missing"),
        pytest.param(_group(), [MODEST], (201, "modest", 500), id="the-default-class-fills-in-name-and-value"),
        pytest.param(_group(), [], (201, None, 0), id="no-class-is-0"),
        pytest.param(
            _group(priority_class_name="high", priority=1_000_000), [HIGH], (201, "high", 1_000_000), id="equal"
        ),
        pytest.param(_group(priority_class_name="high", priority=5), [HIGH], (403, None, None), id="unequal"),
        pytest.param(_group(priority=0), [MODEST], (403, None, None), id="0-is-unequal-too"),
        pytest.param(_group(priority_class_name="system-node-critical"), [], (422, None, None), id="system-class"),
    ],
)
def test_the_priority_of_a_group_is_its_class(
    group: PodGroup, classes: list[PriorityClass], want: tuple[int, str | None, int | None]
) -> None:
    """Admission fills in name and number, or refuses; a system class is above what users may have."""
    answer = review("create", group, version="v1beta1", classes=classes, rules="server")
    spec = answer.object["spec"] if answer.object else {}
    assert (answer.code, spec.get("priorityClassName"), spec.get("priority")) == want
    if answer.code == 422:
        assert [(cause.field, cause.reason) for cause in answer.causes] == [("spec.priority", "FieldValueInvalid")]


def test_the_default_of_value_0_is_a_class_all_the_same() -> None:
    """Its name is filled in, not only its number."""
    answer = review("create", _group(), version="v1beta1", classes=[STANDARD])
    assert answer.object is not None
    assert answer.object["spec"]["priorityClassName"] == "standard"


@pytest.mark.parametrize(
    ("policy", "classes", "want"),
    [
        pytest.param(None, [QUIET], 403, id="a-silent-group-of-a-quiet-class"),
        pytest.param("Never", [QUIET], 201, id="a-group-that-says-never"),
        pytest.param("Never", [replace(QUIET, preemption_policy=None)], 403, id="never-beside-a-loud-class"),
    ],
)
def test_a_class_of_policy_never(policy: str | None, classes: list[PriorityClass], want: int) -> None:
    """The group has to say it itself, and only then."""
    group = _group(priority_class_name="quiet", preemption_policy=policy)
    answer = review("create", group, version="v1beta1", classes=classes)
    assert answer.code == want
    if answer.object is not None:
        assert answer.object["spec"]["preemptionPolicy"] == "Never"


def test_never_without_any_class() -> None:
    """No class is a class of policy PreemptLowerPriority."""
    assert review("create", _group(preemption_policy="Never"), version="v1beta1").code == 403


def test_an_update_must_carry_the_priority_that_admission_filled_in() -> None:
    """The original manifest is refused; an update built from the stored object is not."""
    manifest = write(_group(priority_class_name="high"))
    stored = review("create", manifest, version="v1beta1", classes=[HIGH]).object
    assert stored is not None
    stored["metadata"]["resourceVersion"] = manifest["metadata"]["resourceVersion"] = "1"
    answer = review("update", manifest, version="v1beta1", old=stored, classes=[HIGH])
    assert answer.code == 422
    assert [(cause.field, cause.reason) for cause in answer.causes] == [("spec.priority", "FieldValueInvalid")]
    assert review("update", stored, version="v1beta1", old=stored, classes=[HIGH]).code == 200


def test_the_documented_group_with_a_class_and_no_policy() -> None:
    """As printed it is invalid; with `basic: {}` everything else is filled in."""
    printed = {"kind": "PodGroup", "metadata": {"name": "job-1"}, "spec": {"priorityClassName": "high"}}
    answer = review("create", printed, version="v1beta1", classes=[HIGH])
    assert [(cause.field, cause.reason) for cause in answer.causes] == [("spec.schedulingPolicy", "FieldValueInvalid")]
    printed["spec"] = {"priorityClassName": "high", "schedulingPolicy": {"basic": {}}}
    stored = review("create", printed, version="v1beta1", classes=[HIGH]).object
    assert stored is not None
    assert stored["spec"] == {
        "schedulingPolicy": {"basic": {}},
        "priorityClassName": "high",
        "priority": 1_000_000,
        "disruptionMode": {"single": {}},
        "preemptionPolicy": "PreemptLowerPriority",
    }
    assert stored["metadata"]["finalizers"] == ["scheduling.k8s.io/podgroup-protection"]


def _leaf(name: str = "workers", **fields: Any) -> PodGroupTemplate:
    return PodGroupTemplate(**{"name": name, "scheduling_policy": gang(4), **fields})


def _node(
    name: str, *children: PodGroupTemplate | CompositePodGroupTemplate, **fields: Any
) -> CompositePodGroupTemplate:
    return CompositePodGroupTemplate(
        **{
            "name": name,
            "scheduling_policy": composite_basic(),
            "pod_group_templates": tuple(child for child in children if isinstance(child, PodGroupTemplate)),
            "composite_pod_group_templates": tuple(
                child for child in children if isinstance(child, CompositePodGroupTemplate)
            ),
            **fields,
        }
    )


def _workload(*templates: PodGroupTemplate | CompositePodGroupTemplate, **fields: Any) -> Workload:
    spec = WorkloadSpec(
        pod_group_templates=tuple(item for item in templates if isinstance(item, PodGroupTemplate)),
        composite_pod_group_templates=tuple(item for item in templates if isinstance(item, CompositePodGroupTemplate)),
        **fields,
    )
    return Workload(metadata=ObjectMeta(name="training", resource_version="1"), spec=spec)


TWO_KEYS = SchedulingConstraints(topology=(TopologyConstraint(key="a"), TopologyConstraint(key="b")))
LEAVES = "spec.podGroupTemplates"
NODES = "spec.compositePodGroupTemplates"


@pytest.mark.parametrize(
    ("workload", "want"),
    [
        pytest.param(_workload(*[_leaf(f"t{n}") for n in range(9)]), [(LEAVES, "TooMany")], id="nine-templates"),
        pytest.param(_workload(*[_leaf("t")] * 9), [(LEAVES, "TooMany")], id="nine-templates-of-one-name"),
        pytest.param(
            _workload(_leaf(resource_claims=tuple(claim(f"c{n}", claim_name="x") for n in range(5)))),
            [(f"{LEAVES}[0].resourceClaims", "TooMany")],
            id="five-claims",
        ),
        pytest.param(
            _workload(_leaf(scheduling_constraints=TWO_KEYS)),
            [(f"{LEAVES}[0].schedulingConstraints.topology", "TooMany")],
            id="two-keys",
        ),
        pytest.param(
            _workload(_node("1", _node("2", _node("3", _node("4", _leaf()))))),
            [(f"{NODES}[0]", "Invalid")],
            id="five-levels",
        ),
        pytest.param(
            _workload(_node("a", _leaf("a"))),
            [(f"{NODES}[0].podGroupTemplates[0].name", "Duplicate")],
            id="name-across-levels",
        ),
        pytest.param(_workload(_node("a", _leaf(priority=1), priority=2)), [("spec", "Invalid")], id="two-priorities"),
        pytest.param(_workload(_node("a")), [(f"{NODES}[0]", "Invalid")], id="composite-without-children"),
        pytest.param(_workload(_leaf("b"), _node("a", _leaf("c"))), [("spec", "Invalid")], id="both-lists"),
        pytest.param(_workload(), [("spec", "Invalid")], id="no-list"),
    ],
)
@pytest.mark.parametrize("rules", ["server", "documented"])
def test_the_shape_of_a_workload(workload: Workload, want: Causes, rules: str) -> None:
    """One breach at a time, alike in both rule sets."""
    answer = review("create", workload, version="v1beta1", rules=rules)
    assert [(cause.field, cause.reason.removeprefix("FieldValue")) for cause in answer.causes] == want


OLD = _workload(_leaf("a", scheduling_constraints=topology("rack")), _leaf("b"))
OLD_TREE = _workload(_node("root", _leaf("a"), scheduling_policy=composite_gang(1)))


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(
            OLD,
            _workload(_leaf("b", scheduling_policy=gang(2)), _leaf("a", scheduling_constraints=topology("rack"))),
            [],
            id="count-and-order",
        ),
        pytest.param(
            OLD,
            _workload(_leaf("a", scheduling_constraints=topology("rack"), scheduling_policy=basic()), _leaf("b")),
            [(f"{LEAVES}[0].schedulingPolicy.basic", "Invalid"), (f"{LEAVES}[0].schedulingPolicy.gang", "Invalid")],
            id="variant",
        ),
        pytest.param(
            OLD,
            _workload(_leaf("a", scheduling_constraints=topology("zone")), _leaf("b")),
            [(f"{LEAVES}[0].schedulingConstraints", "Invalid")],
            id="key",
        ),
        pytest.param(
            OLD,
            _workload(*OLD.spec.pod_group_templates, _leaf("c")),
            [(f"{LEAVES}[2]", "Forbidden")],
            id="template-added",
        ),
        pytest.param(OLD, _workload(OLD.spec.pod_group_templates[0]), [(LEAVES, "Forbidden")], id="template-removed"),
        pytest.param(
            OLD,
            replace(OLD, spec=replace(OLD.spec, controller_ref=TypedLocalObjectReference(kind="Job", name="training"))),
            [("spec.controllerRef", "Invalid")],
            id="controller-added",
        ),
    ],
)
@pytest.mark.parametrize("rules", ["server", "documented"])
def test_what_may_change_in_a_workload(old: Workload, new: Workload, want: Causes, rules: str) -> None:
    """Counts and the order of templates, nothing else."""
    answer = review("update", new, version="v1beta1", old=old, rules=rules)
    assert [(cause.field, cause.reason.removeprefix("FieldValue")) for cause in answer.causes] == want


@pytest.mark.parametrize(("rules", "want"), [("server", []), ("documented", ["FieldValueInvalid"])])
def test_the_group_count_of_a_composite_template(rules: str, want: list[str]) -> None:
    """The server lets it change, although no CompositePodGroup can follow; the documentation does not."""
    new = _workload(_node("root", _leaf("a"), scheduling_policy=composite_gang(2)))
    answer = review("update", new, version="v1beta1", old=OLD_TREE, rules=rules)
    assert [cause.reason for cause in answer.causes] == want
