"""The preemption policy of what is built, against what admission makes of it."""

from typing import Any

import pytest

from berth.workload import (
    ObjectMeta,
    PodGroupTemplate,
    PriorityClass,
    PriorityClasses,
    Workload,
    WorkloadSpec,
    composite_gang,
    gang,
    review,
)
from berth.workload.builder import Builder, BuilderError, BuildOptions
from tests.unit.workload_builder.items import blocks, default, leaf, node, options, shown


def _class(name: str, **fields: Any) -> PriorityClass:
    return PriorityClass(metadata=ObjectMeta(name=name), value=1000, **fields)


QUIET = _class("quiet", preemption_policy="Never")
LOUD = _class("loud")
DEFAULT_QUIET = _class("quiet", preemption_policy="Never", global_default=True)


@pytest.mark.parametrize(
    ("classes", "name", "said", "want"),
    [
        pytest.param([QUIET], "quiet", None, "Never", id="from-the-class"),
        pytest.param([LOUD], "loud", None, "PreemptLowerPriority", id="from-a-class-that-says-nothing"),
        pytest.param([DEFAULT_QUIET], "", None, "Never", id="from-the-default-class"),
        pytest.param([], "", None, None, id="no-class-at-all"),
        pytest.param([QUIET], "quiet", "Never", "Never", id="said-and-equal"),
        pytest.param([], "", "PreemptLowerPriority", "PreemptLowerPriority", id="said-without-class"),
        pytest.param(None, "quiet", None, None, id="classes-not-known"),
        pytest.param(None, "quiet", "PreemptLowerPriority", "PreemptLowerPriority", id="said-and-classes-not-known"),
    ],
)
def test_what_the_class_says_is_written_into_every_template(
    classes: list[PriorityClass] | None, name: str, said: str | None, want: str | None
) -> None:
    """Before the template is stored and can no longer change."""
    config = default(priority_class_name=name, preemption_policy=said)
    root = node("root", leaf(default_config=config), default_config=config)
    known = None if classes is None else PriorityClasses(classes)
    builder = Builder(root, options(priority_classes=known))
    assert builder.validate() == []
    (composite,) = builder.build_workload().spec.composite_pod_group_templates
    assert (composite.preemption_policy, composite.pod_group_templates[0].preemption_policy) == (want, want)
    assert builder.new_pod_group("g", "workers").spec.preemption_policy == want
    assert builder.new_composite_pod_group("c", "root").spec.preemption_policy == want


@pytest.mark.parametrize(
    ("classes", "name", "said", "want"),
    [
        pytest.param(
            [QUIET], "quiet", "PreemptLowerPriority", "'PreemptLowerPriority' contradicts 'Never'", id="class"
        ),
        pytest.param([DEFAULT_QUIET], "", "PreemptLowerPriority", "of PriorityClass 'quiet'", id="default-class"),
        pytest.param([], "", "Never", "where there is no PriorityClass", id="never-without-class"),
        pytest.param([], "nope", None, "no PriorityClass with name nope", id="unknown-class"),
    ],
)
def test_contradicting_the_class_is_an_error(
    classes: list[PriorityClass], name: str, said: str | None, want: str
) -> None:
    """Reported at the item by `validate`, raised by what builds; the groups would be refused with 403."""
    item = leaf(default_config=default(priority_class_name=name, preemption_policy=said))
    builder = Builder(item, options(priority_classes=PriorityClasses(classes)))
    (error,) = builder.validate()
    assert shown([error]) == [("spec.scheduling", "Invalid")]
    assert want in str(error)
    with pytest.raises(BuilderError, match=want) as raised:
        builder.build_workload()
    assert raised.value.field == "spec.scheduling"
    template = PodGroupTemplate(
        name="workers", scheduling_policy=gang(1), priority_class_name=name, preemption_policy=said
    )
    stored = Workload(spec=WorkloadSpec(pod_group_templates=(template,)))
    existing = Builder.from_existing_workload(stored, BuildOptions(priority_classes=PriorityClasses(classes)))
    with pytest.raises(BuilderError, match=want):
        existing.new_pod_group("g", "workers")
    group = Builder.from_existing_workload(stored).new_pod_group("g", "workers")
    assert review("create", group, version="v1beta1", classes=classes).code == 403


@pytest.mark.parametrize("given", [pytest.param(True, id="classes-known"), pytest.param(False, id="not-known")])
def test_a_quiet_class_needs_its_policy_in_the_groups(*, given: bool) -> None:
    """Without the classes the builder makes groups of a class of policy Never that the API server refuses."""
    config = default(priority_class_name="quiet")
    root = node("root", leaf(default_config=config), default_config=config, input=blocks(composite_gang(1)))
    builder = Builder(root, options(priority_classes=PriorityClasses([QUIET]) if given else None))
    workload = builder.build_workload()
    assert review("create", workload, version="v1beta1", classes=[QUIET]).accepted
    group = builder.new_pod_group("g", "workers", parent="c")
    composite = builder.new_composite_pod_group("c", "root")
    answers = [
        review("create", group, version="v1beta1", classes=[QUIET]),
        review("create", composite, version="v1alpha3", classes=[QUIET]),
    ]
    assert [answer.code for answer in answers] == ([201, 201] if given else [403, 403])
