"""What is wrong with the user's object, on create and on update: reasons, fields and their order."""

from typing import Any

import pytest

from berth.workload import (
    DisruptionMode,
    Empty,
    PodGroupResourceClaim,
    PodGroupSchedulingPolicy,
    SchedulingConstraints,
    TopologyConstraint,
    basic,
    claim,
    composite_basic,
    composite_gang,
    gang,
    single,
    topology,
    whole,
)
from berth.workload.builder import (
    FROZEN,
    Block,
    Builder,
    BuilderError,
    Frozen,
    ModeOption,
    PolicyOption,
    WorkloadInput,
    WorkloadItem,
    default_min_count,
)
from tests.unit.workload_builder.items import blocks, default, leaf, node, options, shown

BOTH_POLICIES = PodGroupSchedulingPolicy(basic=Empty(), gang=gang(3).gang)
BOTH_MODES = DisruptionMode(single=Empty(), all=Empty())
TWO_KEYS = SchedulingConstraints(topology=(TopologyConstraint(key="rack"), TopologyConstraint(key="zone")))
TWO_OTHER_KEYS = SchedulingConstraints(topology=(TopologyConstraint(key="rack"), TopologyConstraint(key="room")))
HALF_A_CLAIM = PodGroupResourceClaim(name="gpu")
GPU = claim("gpu", claim_name="a")
NIC = claim("nic", template_name="b")

CREATE = [
    pytest.param(leaf(), {}, [], id="nothing-said"),
    pytest.param(leaf(input=blocks(gang())), {}, [], id="gang-without-count-is-for-a-callback"),
    pytest.param(
        leaf(input=blocks(gang(0))),
        {},
        [("spec.scheduling.schedulingPolicy.gang.minCount", "Invalid")],
        id="count-of-0",
    ),
    pytest.param(
        leaf(input=blocks(PodGroupSchedulingPolicy())),
        {},
        [("spec.scheduling.schedulingPolicy", "Invalid")],
        id="empty",
    ),
    pytest.param(
        leaf(input=blocks(BOTH_POLICIES)), {}, [("spec.scheduling.schedulingPolicy", "Invalid")], id="both-policies"
    ),
    pytest.param(
        leaf(input=blocks(gang(1), mode=BOTH_MODES)),
        {},
        [("spec.scheduling.disruptionMode", "Invalid")],
        id="both-modes",
    ),
    pytest.param(
        leaf(input=blocks(constraints=TWO_KEYS)),
        {},
        [("spec.scheduling.schedulingConstraints.topology", "TooMany")],
        id="two-keys",
    ),
    pytest.param(
        leaf(input=blocks(claims=[GPU, HALF_A_CLAIM])),
        {},
        [("spec.scheduling.resourceClaims[1]", "Invalid"), ("spec.scheduling.resourceClaims[1]", "Duplicate")],
        id="claims-have-an-index",
    ),
    pytest.param(
        leaf(input=blocks(gang(0), TWO_KEYS, whole(), [HALF_A_CLAIM])),
        {"declarative_validation": False},
        [],
        id="skipped",
    ),
    pytest.param(
        leaf(input=blocks(gang(0), constraints=topology("")), path=""),
        {},
        [("schedulingPolicy.gang.minCount", "Invalid"), ("schedulingConstraints.topology[0].key", "Required")],
        id="without-path-errors-are-relative",
    ),
    pytest.param(
        WorkloadItem(name="w", input=WorkloadInput(policy=Block(gang(0)), constraints=Block(TWO_KEYS))),
        {},
        [("gang.minCount", "Invalid"), ("topology", "TooMany")],
        id="without-any-path",
    ),
    pytest.param(
        leaf(),
        {"allowed_policies": (), "allowed_disruption_modes": ()},
        [("spec.scheduling.schedulingPolicy", "Forbidden"), ("spec.scheduling.disruptionMode", "Forbidden")],
        id="empty-lists-allow-nothing-not-even-what-is-unset",
    ),
    pytest.param(
        leaf(default_config=default(policy=gang(8)), input=blocks(mode=whole())),
        {"allowed_policies": {PolicyOption.BASIC}, "allowed_disruption_modes": {ModeOption.SINGLE}},
        [("spec.scheduling.schedulingPolicy", "Forbidden"), ("spec.scheduling.disruptionMode", "Forbidden")],
        id="a-default-is-judged-too",
    ),
    pytest.param(
        leaf(default_config=default(policy=BOTH_POLICIES, disruption_mode=BOTH_MODES)),
        {"allowed_policies": {PolicyOption.BASIC}, "allowed_disruption_modes": {ModeOption.SINGLE}},
        [
            ("spec.scheduling.schedulingPolicy", "Forbidden"),
            ("spec.scheduling.disruptionMode", "Forbidden"),
            ("spec.scheduling.disruptionMode", "Invalid"),
        ],
        id="a-default-that-says-both-is-judged-as-both",
    ),
    pytest.param(
        leaf(input=blocks(basic(), mode=whole())),
        {},
        [("spec.scheduling.disruptionMode", "Invalid")],
        id="basic-and-all",
    ),
    pytest.param(
        leaf(input=blocks(mode=whole())), {}, [("spec.scheduling.disruptionMode", "Invalid")], id="unset-and-all"
    ),
    pytest.param(leaf(input=blocks(gang(2), mode=whole())), {}, [], id="gang-and-all"),
    pytest.param(
        node("root", leaf(), input=blocks(composite_basic(), mode=whole())),
        {},
        [("spec.disruptionMode", "Invalid")],
        id="basic-and-all-of-a-composite",
    ),
    pytest.param(
        node("root", leaf("a", path="spec.roles[0]", input=blocks(gang(0))), input=blocks(composite_gang(-1))),
        {},
        [
            ("spec.schedulingPolicy.gang.minGroupCount", "Invalid"),
            ("spec.roles[0].schedulingPolicy.gang.minCount", "Invalid"),
        ],
        id="parents-before-children-each-at-its-path",
    ),
    pytest.param(
        node("Root", *[leaf(f"l{n}", path=f"spec.roles[{n}]") for n in range(9)]),
        {"declarative_validation": False},
        [("spec", "Invalid"), ("spec", "TooMany")],
        id="limits-at-the-item",
    ),
    pytest.param(
        node("1", node("2", node("3", node("4", leaf("5"), path="spec.x")))),
        {},
        [("spec.x", "Invalid")],
        id="five-levels",
    ),
    pytest.param(
        leaf(default_config=default(resource_claims=(GPU,) * 5)),
        {},
        [("spec.scheduling.resourceClaims", "TooMany")],
        id="too-many-claims-hide-that-they-are-the-same",
    ),
    pytest.param(
        node("root", leaf(), default_config=default(resource_claims=(GPU,))),
        {},
        [("spec.resourceClaims", "Forbidden")],
        id="claims-of-a-composite",
    ),
]


@pytest.mark.parametrize(("root", "fields", "want"), CREATE)
def test_create(root: WorkloadItem, fields: dict[str, Any], want: list[tuple[str, str]]) -> None:
    """Everything at once, in the order of the tree."""
    assert shown(Builder(root, options(**fields)).validate()) == want


def _old_and_new(old: WorkloadInput, new: WorkloadInput) -> tuple[WorkloadItem, WorkloadItem]:
    return leaf(input=old, path="ignored"), leaf(input=new)


UPDATE = [
    pytest.param(*_old_and_new(blocks(gang(8)), blocks(gang(4))), {}, [], id="the-count-is-open"),
    pytest.param(*_old_and_new(blocks(gang(8)), blocks(gang())), {}, [], id="the-count-may-go"),
    pytest.param(
        *_old_and_new(blocks(gang(8)), blocks(gang(0))),
        {},
        [("spec.scheduling.schedulingPolicy.gang.minCount", "Invalid")],
        id="a-new-count-is-judged",
    ),
    pytest.param(
        *_old_and_new(
            blocks(gang(0), TWO_KEYS, BOTH_MODES, [HALF_A_CLAIM]), blocks(gang(0), TWO_KEYS, BOTH_MODES, [HALF_A_CLAIM])
        ),
        {},
        [],
        id="what-did-not-change-is-not-judged-again",
    ),
    pytest.param(
        *_old_and_new(blocks(BOTH_POLICIES), blocks(PodGroupSchedulingPolicy(basic=Empty(), gang=gang(0).gang))),
        {},
        [("spec.scheduling.schedulingPolicy.gang.minCount", "Invalid")],
        id="of-a-changed-block-only-what-changed-is-judged",
    ),
    pytest.param(
        *_old_and_new(blocks(constraints=TWO_KEYS), blocks(constraints=TWO_OTHER_KEYS)),
        {"frozen": ()},
        [("spec.scheduling.schedulingConstraints.topology", "TooMany")],
        id="a-topology-list-is-one-value",
    ),
    pytest.param(
        *_old_and_new(
            blocks(claims=[PodGroupResourceClaim(name="A", resource_claim_name="x")]),
            blocks(claims=[PodGroupResourceClaim(name="A", resource_claim_name="X")]),
        ),
        {"frozen": ()},
        [("spec.scheduling.resourceClaims[0].resourceClaimName", "Invalid")],
        id="of-a-changed-claim-only-what-changed-is-judged",
    ),
    pytest.param(
        *_old_and_new(blocks(gang(8)), blocks(basic())),
        {},
        [("spec.scheduling.schedulingPolicy", "Invalid")],
        id="variant",
    ),
    pytest.param(
        *_old_and_new(blocks(gang(8)), blocks()),
        {},
        [("spec.scheduling.schedulingPolicy", "Invalid")],
        id="policy-cleared",
    ),
    pytest.param(
        *_old_and_new(blocks(), blocks(basic())),
        {},
        [("spec.scheduling.schedulingPolicy", "Invalid")],
        id="policy-added",
    ),
    pytest.param(
        *_old_and_new(blocks(), blocks(constraints=SchedulingConstraints())),
        {},
        [],
        id="an-empty-block-says-nothing-new",
    ),
    pytest.param(
        *_old_and_new(blocks(constraints=topology("rack")), blocks(constraints=topology("zone"))),
        {},
        [("spec.scheduling.schedulingConstraints", "Invalid")],
        id="key",
    ),
    pytest.param(
        *_old_and_new(blocks(constraints=topology("rack")), blocks(constraints=topology(""))),
        {},
        [("spec.scheduling.schedulingConstraints", "Invalid")],
        id="a-frozen-block-reports-only-that",
    ),
    pytest.param(
        *_old_and_new(blocks(gang(1), mode=whole()), blocks(gang(1), mode=single())),
        {},
        [("spec.scheduling.disruptionMode", "Invalid")],
        id="mode",
    ),
    pytest.param(
        *_old_and_new(blocks(claims=[GPU, NIC]), blocks(claims=[NIC, GPU])),
        {},
        [("spec.scheduling.resourceClaims", "Invalid")],
        id="claims-reordered",
    ),
    pytest.param(
        *_old_and_new(blocks(gang(8)), blocks(basic())),
        {"declarative_validation": False},
        [("spec.scheduling.schedulingPolicy", "Invalid")],
        id="the-freeze-is-no-structural-check",
    ),
    pytest.param(
        *_old_and_new(blocks(gang(8), topology("rack"), whole()), blocks(basic(), topology("zone"), single())),
        {"frozen": ()},
        [],
        id="nothing-is-frozen-where-the-controller-says-so",
    ),
    pytest.param(
        *_old_and_new(blocks(constraints=topology("rack"), claims=[GPU]), blocks(constraints=TWO_KEYS, claims=[NIC])),
        {"frozen": {Frozen.RESOURCE_CLAIMS}},
        [
            ("spec.scheduling.resourceClaims", "Invalid"),
            ("spec.scheduling.schedulingConstraints.topology", "TooMany"),
        ],
        id="what-is-open-is-judged-by-its-structure",
    ),
    pytest.param(
        *_old_and_new(blocks(claims=[HALF_A_CLAIM]), blocks(claims=[NIC, HALF_A_CLAIM])),
        {"frozen": ()},
        [],
        id="claims-are-matched-by-name",
    ),
    pytest.param(
        node("root", leaf(), input=blocks(composite_gang(1))),
        node("root", leaf(), input=blocks(composite_gang(2))),
        {},
        [],
        id="the-group-count-is-open",
    ),
    pytest.param(
        node("root", leaf(), input=blocks(composite_gang(1))),
        node("root", leaf(), input=blocks(composite_gang(0))),
        {"frozen": FROZEN | {Frozen.MIN_GROUP_COUNT}},
        [("spec.schedulingPolicy.gang.minGroupCount", "Invalid")],
        id="the-group-count-can-be-frozen",
    ),
    pytest.param(
        node("root", leaf("a", input=blocks(gang(0)))),
        node("root", leaf("a", input=blocks(gang(0)))),
        {},
        [],
        id="an-unchanged-child-is-not-judged",
    ),
    pytest.param(
        node("root", leaf("a", input=blocks(gang(0), topology("rack"))), node("inner", leaf("b"))),
        node("root", node("inner", leaf("b"), leaf("a", input=blocks(gang(0), topology("zone"))))),
        {},
        [("spec.scheduling.schedulingPolicy.gang.minCount", "Invalid")],
        id="a-moved-child-is-new",
    ),
]


@pytest.mark.parametrize(("old", "new", "fields", "want"), UPDATE)
def test_update(old: WorkloadItem, new: WorkloadItem, fields: dict[str, Any], want: list[tuple[str, str]]) -> None:
    """What changed, against what may change; the old item gives names and inputs only."""
    assert shown(Builder(new, options(**fields)).validate(old)) == want


def test_an_unset_block_is_reported_where_it_would_stand() -> None:
    """The path of a block is known without its data."""
    item = leaf(input=blocks(gang()), callbacks=[default_min_count(2)])
    errors = Builder(item, options(allowed_policies={PolicyOption.BASIC})).validate()
    assert [str(error) for error in errors] == [
        "spec.scheduling.schedulingPolicy: Forbidden: the policy `gang` is not supported by this controller"
    ]


@pytest.mark.parametrize(
    ("builder", "old", "want"),
    [
        pytest.param(Builder(leaf("a"), options()), leaf("b"), "the old root is 'b', the new one 'a'", id="other-root"),
        pytest.param(Builder(leaf(""), options()), None, "no name", id="broken-tree"),
        pytest.param(
            Builder(leaf(input=blocks(composite_gang(1))), options(declarative_validation=False)),
            None,
            "policy of a composite",
            id="mixed-sorts-with-structure-unchecked",
        ),
    ],
)
def test_a_bug_of_the_controller_is_raised(builder: Builder, old: WorkloadItem | None, want: str) -> None:
    """It is no fault of the user's object, so it is not in the list."""
    with pytest.raises(BuilderError, match=want) as raised:
        builder.validate(old)
    assert raised.value.field == "spec.scheduling"
