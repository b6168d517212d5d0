"""From a tree to a Workload, and from a Workload to groups."""

from collections.abc import Callable
from typing import Any

import pytest

from berth.workload import (
    CompositePodGroupTemplate,
    DisruptionMode,
    ObjectMeta,
    OwnerReference,
    PodGroupTemplate,
    SchedulingConstraints,
    TypedLocalObjectReference,
    Workload,
    WorkloadReference,
    WorkloadSpec,
    basic,
    claim,
    composite_basic,
    composite_gang,
    gang,
    review,
    single,
    topology,
    whole,
)
from berth.workload.builder import (
    Builder,
    BuilderError,
    BuildOptions,
    SchedulingConfig,
    WorkloadItem,
    default_min_count,
    walk_templates,
)
from tests.unit.workload_builder.items import OWNER, blocks, default, leaf, node, options

CLAIMS = (claim("gpu", claim_name="a"), claim("nic", template_name="b"))


def _spec(root: WorkloadItem, **fields: Any) -> WorkloadSpec:
    return Builder(root, options(**fields)).build_workload().spec


@pytest.mark.parametrize(
    ("item", "want"),
    [
        pytest.param(leaf(), PodGroupTemplate(name="workers", scheduling_policy=basic()), id="nothing-said-is-basic"),
        pytest.param(
            leaf(default_config=default(policy=gang(8)), input=blocks(gang()), callbacks=[default_min_count(4)]),
            PodGroupTemplate(name="workers", scheduling_policy=gang(4)),
            id="default-gang-of-8-under-a-gang-without-count-and-a-callback",
        ),
        pytest.param(
            leaf(
                input=blocks(gang(2), topology("rack"), whole(), CLAIMS),
                default_config=default(priority_class_name="high", preemption_policy="Never"),
            ),
            PodGroupTemplate(
                name="workers",
                scheduling_policy=gang(2),
                scheduling_constraints=topology("rack"),
                resource_claims=CLAIMS,
                disruption_mode=whole(),
                priority_class_name="high",
                preemption_policy="Never",
            ),
            id="every-field",
        ),
        pytest.param(
            leaf(default_config=default(constraints=SchedulingConstraints(), disruption_mode=DisruptionMode())),
            PodGroupTemplate(name="workers", scheduling_policy=basic()),
            id="empty-defaults-are-nothing",
        ),
        pytest.param(
            leaf(input=blocks(gang(0))),
            PodGroupTemplate(name="workers", scheduling_policy=gang(0)),
            id="counts-are-not-judged-here",
        ),
    ],
)
def test_a_leaf_becomes_one_leaf_template(item: WorkloadItem, want: PodGroupTemplate) -> None:
    """The only one of the Workload."""
    spec = _spec(item)
    assert spec.pod_group_templates == (want,)
    assert spec.composite_pod_group_templates == ()


def test_a_tree_becomes_one_composite_template() -> None:
    """Leaves and composites side by side, each in its list, in the order given."""
    root = node(
        "root",
        node("inner", leaf("c")),
        leaf("a", input=blocks(gang(8))),
        leaf("b"),
        input=blocks(composite_gang(), topology("zone"), single()),
        callbacks=[default_min_count(3)],
    )
    spec = _spec(root)
    assert spec.pod_group_templates == ()
    assert spec.composite_pod_group_templates == (
        CompositePodGroupTemplate(
            name="root",
            scheduling_policy=composite_gang(3),
            scheduling_constraints=topology("zone"),
            disruption_mode=single(),
            pod_group_templates=(
                PodGroupTemplate(name="a", scheduling_policy=gang(8)),
                PodGroupTemplate(name="b", scheduling_policy=basic()),
            ),
            composite_pod_group_templates=(
                CompositePodGroupTemplate(
                    name="inner",
                    scheduling_policy=composite_basic(),
                    pod_group_templates=(PodGroupTemplate(name="c", scheduling_policy=basic()),),
                ),
            ),
        ),
    )


@pytest.mark.parametrize(
    ("api_version", "want_group"),
    [
        pytest.param("batch/v1", "batch", id="group"),
        pytest.param("v1", "", id="core"),
    ],
)
def test_the_owner_becomes_the_controller(api_version: str, want_group: str) -> None:
    """The owner reference as given, and a reference by name for tools."""
    owner = OwnerReference(api_version=api_version, kind="Job", name="training", uid="u")
    workload = Builder(leaf(), options(owner=owner)).build_workload()
    assert workload.metadata == ObjectMeta(name="training-wl", namespace="ml", owner_references=(owner,))
    want = TypedLocalObjectReference(api_group=want_group, kind="Job", name="training")
    assert workload.spec.controller_ref == want


def test_the_workload_is_compiled_once() -> None:
    """Later calls give the same object, so callbacks need not run again."""
    calls: list[SchedulingConfig] = []

    def note(config: SchedulingConfig) -> SchedulingConfig:
        calls.append(config)
        return config

    builder = Builder(leaf(callbacks=[note]), options())
    first = builder.build_workload()
    ran = len(calls)
    assert builder.build_workload() is first
    assert len(calls) == ran > 0


TOO_DEEP = node("1", node("2", node("3", node("4", leaf("5"), path="spec.deep"))))


@pytest.mark.parametrize(
    ("root", "fields", "want"),
    [
        pytest.param(leaf(""), {}, "no name", id="no-name"),
        pytest.param(node("a", leaf("b"), node("c", leaf("a"))), {}, "two items are named 'a'", id="name-twice"),
        pytest.param(node("a", None), {}, "must not be None", id="child-is-none"),  # type: ignore[arg-type]
        pytest.param(node("a", leaf(), input=blocks(gang(1))), {}, "policy of a leaf", id="leaf-policy-on-composite"),
        pytest.param(node("a", leaf(), input=blocks(claims=CLAIMS)), {}, "has resource claims", id="composite-claims"),
        pytest.param(leaf(input=blocks(composite_gang(1))), {}, "of a composite", id="composite-policy-on-leaf"),
        pytest.param(leaf(input=blocks(gang())), {}, "no minCount", id="gang-without-count"),
        pytest.param(node("a", leaf(), input=blocks(composite_gang())), {}, "no minGroupCount", id="composite-gang"),
        pytest.param(leaf(), {"owner": None}, "needs an owner", id="no-owner"),
        pytest.param(leaf(), {"owner": OwnerReference(api_version="a/b/c")}, "apiVersion 'a/b/c'", id="owner-version"),
        pytest.param(leaf("Workers"), {}, "lower case", id="name-is-no-label"),
        pytest.param(leaf("a" * 64), {}, "63 bytes", id="name-too-long"),
        pytest.param(node("r", *[leaf(f"l{n}") for n in range(9)]), {}, "at most 8 children", id="nine-leaves"),
        pytest.param(
            node("r", *[node(f"n{n}", leaf(f"l{n}")) for n in range(9)]), {}, "at most 8", id="nine-composites"
        ),
        pytest.param(TOO_DEEP, {}, 'spec.deep: Invalid value: "4": templates may be at most 4', id="five-levels"),
        pytest.param(leaf(input=blocks(claims=CLAIMS * 3)), {}, "at most 4", id="six-claims"),
        pytest.param(
            leaf(input=blocks(claims=CLAIMS[:1] * 2)), {}, r"resourceClaims\[1\]: Duplicate", id="claim-twice"
        ),
        pytest.param(
            node("r", leaf(), default_config=default(resource_claims=CLAIMS)),
            {},
            "no resource claims",
            id="default-claims",
        ),
    ],
)
def test_what_stands_in_the_way_is_raised(root: WorkloadItem, fields: dict[str, Any], want: str) -> None:
    """One error, the first, with the path of the item."""
    with pytest.raises(BuilderError, match=want):
        Builder(root, options(**fields)).build_workload()


def test_the_largest_tree_that_fits() -> None:
    """Eight leaves and eight composites below one composite, four levels, four claims: the API server agrees."""
    claims = [claim(f"c{n}", claim_name="x") for n in range(4)]
    deep = node("n0", node("d", leaf("e", input=blocks(claims=claims))))
    others = [node(f"n{n}", leaf(f"m{n}")) for n in range(1, 8)]
    root = node("r" * 63, *[leaf(f"l{n}") for n in range(8)], deep, *others)
    workload = Builder(root, options()).build_workload()
    assert Builder(root, options()).validate() == []
    assert review("create", workload, version="v1beta1").causes == ()
    assert len(list(walk_templates(workload))) == 26


def _tree() -> Builder:
    root = node(
        "root",
        leaf("driver", input=blocks(gang(1))),
        node("inner", leaf("workers", input=blocks(gang(8), topology("rack"), whole(), CLAIMS)), path="spec.inner"),
        default_config=default(priority_class_name="high"),
    )
    return Builder(root, options())


def test_groups_are_copies_of_their_templates() -> None:
    """Leaves at any level; namespace and owner are the Workload's, the parent is the caller's."""
    builder = _tree()
    builder.build_workload()
    group = builder.new_pod_group("training-workers", "workers", parent="training-inner")
    assert group.metadata == ObjectMeta(name="training-workers", namespace="ml", owner_references=(OWNER,))
    assert group.spec.parent_composite_pod_group_name == "training-inner"
    assert group.spec.workload_ref == WorkloadReference(workload_name="training-wl", template_name="workers")
    assert (group.spec.scheduling_policy, group.spec.scheduling_constraints) == (gang(8), topology("rack"))
    assert (group.spec.disruption_mode, group.spec.resource_claims) == (whole(), CLAIMS)
    composite = builder.new_composite_pod_group("training-root", "root")
    assert composite.spec.parent_composite_pod_group_name is None
    assert (composite.spec.priority_class_name, composite.spec.scheduling_policy) == ("high", composite_basic())
    nested = builder.new_composite_pod_group("training-inner", "inner", parent="training-root")
    assert nested.spec.parent_composite_pod_group_name == "training-root"


@pytest.mark.parametrize(
    ("make", "want"),
    [
        pytest.param(
            lambda it: it.new_pod_group("x", "nope"), "no PodGroupTemplate 'nope'; it has driver, workers", id="leaf"
        ),
        pytest.param(
            lambda it: it.new_pod_group("x", "root"), "no PodGroupTemplate 'root'", id="a-composite-is-no-leaf"
        ),
        pytest.param(
            lambda it: it.new_composite_pod_group("x", "workers"), "it has root, inner", id="a-leaf-is-no-composite"
        ),
    ],
)
def test_an_unknown_template_is_named_with_those_that_there_are(make: Callable[[Builder], Any], want: str) -> None:
    """Whoever mistyped sees the right name."""
    builder = _tree()
    builder.build_workload()
    with pytest.raises(BuilderError, match=want):
        make(builder)


def test_groups_need_a_workload() -> None:
    """Before it is built there is nothing to copy."""
    with pytest.raises(BuilderError, match="call build_workload"):
        _tree().new_pod_group("x", "workers")


def test_a_stored_workload_gives_groups_only() -> None:
    """A Workload of another controller is the truth: it is neither validated nor compiled anew."""
    template = PodGroupTemplate(name="workers", scheduling_policy=gang(4), priority=7, preemption_policy="Never")
    stored = Workload(metadata=ObjectMeta(name="w", namespace="ml"), spec=WorkloadSpec(pod_group_templates=(template,)))
    builder = Builder.from_existing_workload(stored)
    group = builder.new_pod_group("g", "workers")
    assert group.metadata == ObjectMeta(name="g", namespace="ml")
    assert (group.spec.priority, group.spec.preemption_policy) == (7, "Never")
    with pytest.raises(BuilderError, match="builds groups only"):
        builder.build_workload()
    with pytest.raises(BuilderError, match="nothing to validate"):
        builder.validate()
    owned = Builder.from_existing_workload(stored, BuildOptions(owner=OWNER)).new_pod_group("g", "workers")
    assert owned.metadata.owner_references == (OWNER,)
