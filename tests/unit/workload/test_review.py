"""What `review` decides beyond the corpus: the request's own errors, and rules that meet in one object."""

from typing import Any

import pytest

from berth.workload import ObjectMeta, PodGroup, PodGroupSpec, PriorityClass, gang, review
from tests.unit.workload.builders import condition, leaf, node, pod_group, stored_pod_group, tree, workload

GENERIC = ("GenericWorkload",)


def _causes(operation: Any, body: Any, **how: Any) -> list[tuple[str, str]]:
    answer = review(operation, body, **{"version": "v1beta1", "rules": "server", **how})
    return sorted((cause.field, cause.reason.removeprefix("FieldValue")) for cause in answer.causes)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        pytest.param("operation", "delete", id="operation"),
        pytest.param("field_validation", "strict", id="field-validation"),
        pytest.param("rules", "kubernetes", id="rules"),
        pytest.param("gates", ["GangScheduling"], id="gate-that-is-gone"),
        pytest.param("gates", ["CompositePodGroup"], id="gate-without-prerequisite"),
        pytest.param("classes", [{"value": "high"}], id="class-that-is-none"),
    ],
)
def test_senseless_arguments_raise(argument: str, value: Any) -> None:
    """Only the objects are judged; a caller's mistake is an exception."""
    arguments: dict[str, Any] = {"operation": "create", "version": "v1beta1", argument: value}
    with pytest.raises(ValueError, match=r"\w"):
        review(object=workload(), **arguments)


@pytest.mark.parametrize(
    ("body", "how", "want_code"),
    [
        pytest.param("text", {}, 400, id="not-an-object"),
        pytest.param({"metadata": {"name": "a"}}, {}, 400, id="no-kind"),
        pytest.param({"kind": ["Workload"]}, {}, 400, id="kind-is-a-list"),
        pytest.param({"kind": "Job"}, {}, 404, id="kind-of-others"),
        pytest.param({**workload(), "apiVersion": "scheduling.k8s.io/v1alpha3"}, {}, 400, id="another-version"),
        pytest.param({**workload(), "apiVersion": ["x"]}, {}, 400, id="version-is-a-list"),
        pytest.param({**workload(), "apiVersion": "scheduling.k8s.io/v1beta1"}, {}, 201, id="version-as-asked"),
        pytest.param(workload(), {"subresource": "scale"}, 404, id="no-such-subresource"),
        pytest.param(pod_group(), {"subresource": "status"}, 405, id="status-cannot-be-created"),
        pytest.param({**pod_group(), "kind": "CompositePodGroup"}, {}, 404, id="composite-in-v1beta1"),
        pytest.param(workload(resourceVersion="7"), {}, 500, id="resource-version-on-create"),
        pytest.param(
            workload(uid="u", deletionTimestamp="2026-09-01T00:00:00Z"), {}, 201, id="system-fields-are-wiped"
        ),
    ],
)
def test_requests_that_end_early(body: Any, how: dict[str, Any], want_code: int) -> None:
    """Before an object is looked at, the request itself must make sense."""
    answer = review("create", body, version="v1beta1", **how)
    assert (answer.code, answer.causes) == (want_code, ())
    assert answer.accepted == (want_code == 201)


@pytest.mark.parametrize(
    ("metadata", "want_code", "want_reason"),
    [
        pytest.param({}, 200, "", id="as-stored"),
        pytest.param({"resourceVersion": "9"}, 409, "Conflict", id="stale"),
        pytest.param({"resourceVersion": "", "labels": {"a": "b c"}}, 422, "Invalid", id="missing"),
        pytest.param({"resourceVersion": "0"}, 422, "Invalid", id="zero-is-missing"),
        pytest.param({"uid": "another"}, 409, "Conflict", id="another-uid"),
        pytest.param({"name": "workers-1"}, 400, "BadRequest", id="another-name"),
        pytest.param({"namespace": "other"}, 400, "BadRequest", id="another-namespace"),
        pytest.param({"generation": 9, "creationTimestamp": "2026-09-01T00:00:00Z"}, 200, "", id="not-ours-to-set"),
    ],
)
def test_an_update_must_match_the_stored_object(metadata: dict[str, Any], want_code: int, want_reason: str) -> None:
    """Name, namespace, uid and resourceVersion tie an update to what is stored."""
    old = stored_pod_group({"namespace": "ml", "uid": "u"})
    answer = review("update", stored_pod_group(metadata), version="v1beta1", old=old)
    assert (answer.code, answer.reason) == (want_code, want_reason)


def test_an_update_of_nothing_is_not_found() -> None:
    """There is no create by update."""
    assert review("update", workload(), version="v1beta1").code == 404
    assert review("status", stored_pod_group(), version="v1beta1").reason == "NotFound"


def test_the_stored_object_may_be_a_manifest() -> None:
    """A group is completed as its creation would have; a PUT of the bare manifest still lacks the priority."""
    high = {"metadata": {"name": "high"}, "value": 9}
    old = pod_group(priorityClassName="high")
    same = stored_pod_group(priorityClassName="high", priority=9)
    assert _causes("update", same, old=old, classes=[high]) == []
    assert _causes("update", old, old=old, classes=[high]) == [("spec.priority", "Invalid")]
    assert review("update", same, version="v1beta1", old=old, classes=[]).code == 422


def test_status_is_short_for_an_update_of_the_subresource() -> None:
    """Both spellings of a status update give the same answer."""
    body = {**stored_pod_group(), "status": {"conditions": [condition()]}}
    short = review("status", body, version="v1beta1", old=stored_pod_group())
    assert short == review("update", body, version="v1beta1", old=stored_pod_group(), subresource="status")
    assert short.object is not None
    assert short.object["status"] == {"conditions": [condition()]}


def test_a_workload_has_no_status() -> None:
    """Its status path is not served."""
    assert review("status", workload(), version="v1beta1", old=workload()).code == 404


def test_models_are_reviewed_like_json() -> None:
    """A group made in Python needs no detour over JSON."""
    group = PodGroup(metadata=ObjectMeta(name="a"), spec=PodGroupSpec(scheduling_policy=gang(2)))
    high = PriorityClass(metadata=ObjectMeta(name="high"), value=9, global_default=True)
    answer = review("create", group, version="v1alpha3", classes=[high])
    assert answer.object is not None
    assert answer.object["apiVersion"] == "scheduling.k8s.io/v1alpha3"
    assert (answer.object["spec"]["priorityClassName"], answer.object["spec"]["priority"]) == ("high", 9)


def test_unknown_fields_by_field_validation() -> None:
    """Dropped with a warning each, dropped silently, or refused; field names are case-sensitive."""
    body = workload(leaf(Priority=3, x={"y": 1}))
    warned = review("create", body, version="v1beta1", rules="server")
    assert warned.warnings == (
        'unknown field "spec.podGroupTemplates[0].Priority"',
        'unknown field "spec.podGroupTemplates[0].x"',
    )
    assert review("create", body, version="v1beta1", rules="server", field_validation="Ignore").warnings == ()
    strict = review("create", body, version="v1beta1", field_validation="Strict")
    assert (strict.code, "spec.podGroupTemplates[0].x" in strict.message) == (400, True)


RULES_THAT_MEET = [
    pytest.param(
        workload(leaf("a", disruptionMode={}), leaf("Bad")),
        workload(leaf("a")),
        [("spec.podGroupTemplates[1]", "Forbidden")],
        id="an-added-template-hides-what-is-wrong-inside",
    ),
    pytest.param(
        workload(leaf("a"), leaf("b"), leaf("b")),
        workload(leaf("a")),
        [("spec.podGroupTemplates[1]", "Forbidden"), ("spec.podGroupTemplates[2]", "Forbidden")],
        id="added-templates-hide-their-duplicates",
    ),
    pytest.param(
        workload(leaf(resourceClaims=[{"name": f"c{i}", "resourceClaimName": "x"} for i in range(5)])),
        workload(leaf()),
        [
            ("spec.podGroupTemplates[0].resourceClaims", "Invalid"),
            ("spec.podGroupTemplates[0].resourceClaims", "TooMany"),
        ],
        id="frozen-claims-that-are-too-many-break-two-rules",
    ),
    pytest.param(
        workload(leaf(schedulingConstraints={"topology": [{"key": ""}, {"key": ""}]})),
        workload(leaf()),
        [("spec.podGroupTemplates[0].schedulingConstraints", "Invalid")],
        id="a-frozen-field-hides-its-format",
    ),
    pytest.param(
        tree(node("c", leaf("c"))),
        tree(node("c", leaf("c"))),
        [("spec.compositePodGroupTemplates[0].podGroupTemplates[0].name", "Duplicate")],
        id="the-tree-is-judged-again-though-nothing-changed",
    ),
    pytest.param(
        workload(*[leaf("Bad")] * 9, labels={"a": "b"}),
        workload(*[leaf("Bad")] * 9),
        [],
        id="stored-lists-are-not-judged-again",
    ),
    pytest.param(
        workload(finalizers=["x/y"]),
        workload(deletionTimestamp="2026-09-01T00:00:00Z", finalizers=["x/z"]),
        [("metadata.finalizers", "Forbidden")],
        id="no-new-finalizers-while-terminating",
    ),
]


@pytest.mark.parametrize(("body", "old", "want"), RULES_THAT_MEET)
def test_rules_that_meet_in_an_update(body: Any, old: Any, want: list[tuple[str, str]]) -> None:
    """Which rule hides which, as the API server's generated validation has it."""
    assert _causes("update", body, old=old) == want


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        pytest.param({"reason": "R" * 1025}, [("reason", "TooLong")], id="reason-of-1025-bytes"),
        pytest.param({"reason": "1" * 1025}, [("reason", "Invalid"), ("reason", "TooLong")], id="reason-bad-and-long"),
        pytest.param({"reason": "a,"}, [("reason", "Invalid")], id="reason-ends-in-comma"),
        pytest.param({"reason": "a\n"}, [("reason", "Invalid")], id="reason-ends-in-newline"),
        pytest.param({"message": "ä" * 16385}, [("message", "TooLong")], id="message-counts-bytes"),
        pytest.param({"observedGeneration": -1}, [("observedGeneration", "Invalid")], id="negative-generation"),
        pytest.param({"type": "a/b/c"}, [("type", "Invalid")], id="type-with-two-slashes"),
        pytest.param({"type": "/x"}, [("type", "Invalid")], id="type-without-prefix"),
        pytest.param({"status": "true"}, [("status", "NotSupported")], id="status-in-lower-case"),
    ],
)
def test_conditions(fields: dict[str, Any], want: list[tuple[str, str]]) -> None:
    """metav1.Condition, one breach at a time."""
    body = {**stored_pod_group(), "status": {"conditions": [condition(**fields)]}}
    want_causes = [(f"status.conditions[0].{name}", reason) for name, reason in want]
    assert _causes("status", body, old=stored_pod_group()) == want_causes


@pytest.mark.parametrize(
    ("metadata", "want"),
    [
        pytest.param({"name": "", "generateName": "a-"}, [], id="generated-name"),
        pytest.param({"name": "", "generateName": "a" * 300}, [("generateName", "Invalid")], id="long-prefix-is-cut"),
        pytest.param({"name": "", "generateName": "a.-"}, [("name", "Invalid")], id="prefix-ends-in-dot-dash"),
        pytest.param({"namespace": "a.b"}, [("namespace", "Invalid")], id="namespace-with-dot"),
        pytest.param({"labels": {"a/": "x"}}, [("labels", "Invalid")] * 2, id="label-key-without-name"),
        pytest.param({"labels": {"-": "b c"}}, [("labels", "Invalid")] * 2, id="label-key-and-value"),
        pytest.param({"annotations": {"A/B": "any thing"}}, [], id="annotation-keys-in-upper-case"),
        pytest.param({"annotations": {"a": "x" * 262144}}, [("annotations", "TooLong")], id="annotations-too-big"),
        pytest.param(
            {"finalizers": ["a b"]},
            [("finalizers", "Invalid"), ("finalizers[0]", "Invalid")],
            id="finalizer-with-blank",
        ),
        pytest.param({"finalizers": ["mine"]}, [("finalizers[0]", "Invalid")], id="finalizer-without-prefix"),
        pytest.param({"finalizers": ["orphan", "foregroundDeletion"]}, [("finalizers", "Invalid")], id="two-deletions"),
        pytest.param({"generation": -1}, [("generation", "Invalid")], id="generation"),
        pytest.param(
            {"ownerReferences": [{}]},
            [(f"ownerReferences[0].{name}", "Required") for name in ("apiVersion", "kind", "name", "uid")],
            id="empty-owner",
        ),
        pytest.param(
            {
                "ownerReferences": [{"apiVersion": "a/b/c", "kind": "K", "name": "n", "uid": "u", "controller": True}]
                * 2
            },
            [
                ("ownerReferences", "Invalid"),
                ("ownerReferences[0].apiVersion", "Invalid"),
                ("ownerReferences[1].apiVersion", "Invalid"),
            ],
            id="two-controllers-of-no-version",
        ),
        pytest.param(
            {"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "n", "uid": "u"}]},
            [("ownerReferences[0]", "Invalid")],
            id="an-event-owns-nothing",
        ),
    ],
)
def test_metadata(metadata: dict[str, Any], want: list[tuple[str, str]]) -> None:
    """Apimachinery's rules for metadata, one breach at a time."""
    assert _causes("create", workload(**metadata)) == [(f"metadata.{field}", reason) for field, reason in want]


def test_hidden_fields_are_matched_as_the_server_does() -> None:
    """With a gate closed, flat templates are compared by place, composite ones by name."""
    rack, zone = ({"schedulingConstraints": {"topology": [{"key": key}]}} for key in ("rack", "zone"))
    swapped = review(
        "update",
        workload(leaf("b"), leaf("a", **rack)),
        version="v1beta1",
        old=workload(leaf("a", **rack), leaf("b")),
        gates=GENERIC,
    )
    field = "spec.podGroupTemplates[1].schedulingConstraints"
    assert [(cause.field, cause.detail) for cause in swapped.causes] == [(field, "field is immutable")]
    kept = review("update", workload(leaf("a", **zone)), version="v1beta1", old=workload(leaf("a")), gates=GENERIC)
    assert kept.object is not None
    assert kept.object["spec"]["podGroupTemplates"][0]["schedulingConstraints"] is None


def test_the_second_default_class_is_refused_after_validation() -> None:
    """Only one PriorityClass may be the default, but a class that is wrong is told so first."""
    default = {"metadata": {"name": "standard"}, "value": 1, "globalDefault": True}
    second = {"kind": "PriorityClass", "metadata": {"name": "other"}, "value": 2, "globalDefault": True}
    assert review("create", second, version="v1", classes=[default]).code == 403
    assert review("create", {**second, "value": 2_000_000_000}, version="v1", classes=[default]).code == 422
    assert review("create", {**second, "metadata": {"name": "a"}}, version="v1", classes=[]).code == 201


def test_of_two_default_classes_the_lowest_value_counts() -> None:
    """A race can leave two defaults; of equal values the first name wins, so that the answer is the same each time."""
    classes = [
        {"metadata": {"name": name}, "value": value, "globalDefault": True}
        for name, value in (("c", 3), ("b", 2), ("a", 2))
    ]
    answer = review("create", pod_group(), version="v1beta1", classes=classes)
    assert answer.object is not None
    assert answer.object["spec"]["priorityClassName"] == "a"
