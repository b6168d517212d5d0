"""Reading and writing versions: the documentation's examples, v1alpha2 fixtures, and what cannot be said."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from berth.workload import (
    CompositePodGroup,
    Condition,
    DecodeError,
    DisruptionMode,
    Empty,
    NotExpressibleError,
    ObjectMeta,
    PodGroup,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
    PodGroupStatus,
    PodGroupTemplate,
    UnknownFieldsError,
    Workload,
    WorkloadReference,
    WorkloadSpec,
    gang,
    normalise,
    read_part,
    whole,
    write,
    write_part,
)

EXAMPLES = Path(__file__).parents[2] / "vectors" / "workload-examples"
V1ALPHA2 = {"apiVersion": "scheduling.k8s.io/v1alpha2", "metadata": {"name": "a"}}


def _documents() -> list[Any]:
    return [
        pytest.param(body, id=f"{file.stem}-{place}")
        for file in sorted(EXAMPLES.glob("*.yaml"))
        for place, body in enumerate(yaml.safe_load_all(file.read_text(encoding="utf-8")))
    ]


@pytest.mark.parametrize("body", _documents())
def test_the_documentations_examples_come_back(body: dict[str, Any]) -> None:
    """Each example is understood whole and written back as it was."""
    version = body["apiVersion"].partition("/")[2]
    assert write(normalise(body, unknown="refuse"), version) == body


def test_a_pod_group_of_v1alpha2_is_normalised() -> None:
    """Disruption mode, template reference and condition have new names."""
    body = {
        **V1ALPHA2,
        "kind": "PodGroup",
        "spec": {
            "podGroupTemplateRef": {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}},
            "schedulingPolicy": {"gang": {"minCount": 4}},
            "disruptionMode": "PodGroup",
        },
        "status": {"conditions": [{"type": "PodGroupScheduled", "status": "True"}]},
    }
    want = PodGroup(
        metadata=ObjectMeta(name="a"),
        spec=PodGroupSpec(
            workload_ref=WorkloadReference(workload_name="w", template_name="t"),
            scheduling_policy=gang(4),
            disruption_mode=whole(),
        ),
        status=PodGroupStatus(conditions=(Condition(type="PodGroupInitiallyScheduled", status="True"),)),
    )
    assert normalise(body, unknown="refuse") == want
    assert write(want, "v1alpha2") == body
    assert write(want)["apiVersion"] == "scheduling.k8s.io/v1beta1"


@pytest.mark.parametrize(
    ("spec", "want_field"),
    [
        pytest.param({"disruptionMode": "Single"}, "spec.disruptionMode", id="later-word"),
        pytest.param({"disruptionMode": {"single": {}}}, "spec.disruptionMode", id="later-form"),
        pytest.param({"podGroupTemplateRef": {}}, "spec.podGroupTemplateRef", id="reference-to-nothing"),
        pytest.param({"workloadRef": {}}, "spec.workloadRef", id="later-field"),
        pytest.param({"preemptionPolicy": "Never"}, "spec.preemptionPolicy", id="later-policy"),
    ],
)
def test_v1alpha2_with_words_of_another_version_is_refused(spec: dict[str, Any], want_field: str) -> None:
    """A field of a later version is no unknown field that could be kept: it would change its meaning."""
    with pytest.raises(DecodeError) as caught:
        normalise({**V1ALPHA2, "kind": "PodGroup", "spec": spec})
    assert caught.value.field == want_field


@pytest.mark.parametrize(
    ("obj", "want_field"),
    [
        pytest.param(
            PodGroup(spec=PodGroupSpec(parent_composite_pod_group_name="p")),
            "spec.parentCompositePodGroupName",
            id="parent",
        ),
        pytest.param(PodGroup(spec=PodGroupSpec(preemption_policy="Never")), "spec.preemptionPolicy", id="policy"),
        pytest.param(
            PodGroup(spec=PodGroupSpec(disruption_mode=DisruptionMode())), "spec.disruptionMode", id="mode-of-none"
        ),
        pytest.param(
            PodGroup(status=PodGroupStatus(conditions=(Condition(type="PodGroupScheduled"),))),
            "status.conditions[0].type PodGroupScheduled",
            id="condition-that-would-be-read-as-another",
        ),
        pytest.param(
            Workload(spec=WorkloadSpec(pod_group_templates=(PodGroupTemplate(preemption_policy="Never"),))),
            "spec.podGroupTemplates[0].preemptionPolicy",
            id="template",
        ),
        pytest.param(CompositePodGroup(), "CompositePodGroup", id="kind"),
    ],
)
def test_what_v1alpha2_cannot_say_is_refused(obj: Any, want_field: str) -> None:
    """Writing never drops anything."""
    with pytest.raises(NotExpressibleError) as caught:
        write(obj, "v1alpha2")
    assert (caught.value.version, caught.value.field) == ("v1alpha2", want_field)


def test_composite_groups_have_one_version() -> None:
    """They are written as v1alpha3 unless asked otherwise, and v1beta1 does not have them."""
    assert write(CompositePodGroup())["apiVersion"] == "scheduling.k8s.io/v1alpha3"
    with pytest.raises(NotExpressibleError):
        write(CompositePodGroup(), "v1beta1")
    with pytest.raises(DecodeError):
        normalise({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "CompositePodGroup"})


@pytest.mark.parametrize(
    "body",
    [
        pytest.param([], id="list"),
        pytest.param({}, id="empty"),
        pytest.param({"apiVersion": "scheduling.k8s.io/v1", "kind": "Workload"}, id="no-such-version"),
        pytest.param({"apiVersion": "batch/v1beta1", "kind": "Workload"}, id="another-group"),
        pytest.param({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Job"}, id="another-kind"),
    ],
)
def test_what_is_no_group_object_is_refused(body: Any) -> None:
    """Only the three kinds of the group are read."""
    with pytest.raises(DecodeError):
        normalise(body)


def test_unknown_fields_are_kept_dropped_or_refused() -> None:
    """The caller chooses; all unknown fields are named, at every level."""
    body = write(Workload(spec=WorkloadSpec(pod_group_templates=(PodGroupTemplate(name="a"),))))
    body["status"] = {"phase": "new"}
    body["spec"]["podGroupTemplates"][0]["replicas"] = 3
    kept = normalise(body)
    assert write(kept) == body
    assert kept.extra == {"status": {"phase": "new"}}
    assert normalise(body, unknown="drop").extra is None
    with pytest.raises(UnknownFieldsError) as caught:
        normalise(body, unknown="refuse")
    assert sorted(caught.value.fields) == ["spec.podGroupTemplates[0].replicas", "status"]


def test_a_building_block_is_read_and_written_by_itself() -> None:
    """An API that embeds a policy reads it from its own spec; a count that is left out stays out."""
    assert read_part(PodGroupSchedulingPolicy, {"gang": {}}) == gang()
    assert write_part(gang()) == {"gang": {}}
    assert write_part(PodGroupSchedulingPolicy(basic=Empty())) == {"basic": {}}


def test_models_are_values() -> None:
    """They are frozen, equal by what they say, and hashable where they hold no mapping."""
    template = PodGroupTemplate(name="a", scheduling_policy=gang(4))
    assert hash(template) == hash(PodGroupTemplate(name="a", scheduling_policy=gang(4)))
    assert msgspec.structs.replace(template, name="b") != template
    with pytest.raises(AttributeError):
        template.name = "b"  # type: ignore[misc]
    assert "priority" not in repr(template)
