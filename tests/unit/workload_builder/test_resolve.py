"""Defaults, the user's blocks and callbacks: which of them has the last word."""

from dataclasses import replace

import pytest

from berth.workload import (
    CompositePodGroupSchedulingPolicy,
    DisruptionMode,
    Empty,
    PodGroupResourceClaim,
    PodGroupSchedulingPolicy,
    SchedulingConstraints,
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
    BuilderError,
    SchedulingConfig,
    WorkloadInput,
    default_min_count,
    resolve,
)
from tests.unit.workload_builder.items import blocks, default, leaf, node

DEFAULT = default(
    policy=gang(8),
    constraints=topology("zone"),
    disruption_mode=single(),
    resource_claims=(claim("gpu", claim_name="a"),),
    priority_class_name="high",
    preemption_policy="Never",
)
BOTH_POLICIES = PodGroupSchedulingPolicy(basic=Empty(), gang=gang(3).gang)
BOTH_MODES = DisruptionMode(single=Empty(), all=Empty())


@pytest.mark.parametrize(
    ("user", "want"),
    [
        pytest.param(blocks(), DEFAULT, id="nothing-said"),
        pytest.param(blocks(basic()), replace(DEFAULT, policy=basic()), id="policy"),
        pytest.param(
            blocks(gang()), replace(DEFAULT, policy=gang()), id="gang-without-count-replaces-the-whole-policy"
        ),
        pytest.param(blocks(PodGroupSchedulingPolicy()), DEFAULT, id="empty-policy-is-unset"),
        pytest.param(blocks(BOTH_POLICIES), replace(DEFAULT, policy=basic()), id="of-both-policies-basic"),
        pytest.param(
            blocks(constraints=topology("rack")), replace(DEFAULT, constraints=topology("rack")), id="constraints"
        ),
        pytest.param(blocks(constraints=SchedulingConstraints()), DEFAULT, id="empty-constraints-are-unset"),
        pytest.param(blocks(mode=whole()), replace(DEFAULT, disruption_mode=whole()), id="mode"),
        pytest.param(blocks(mode=DisruptionMode()), DEFAULT, id="empty-mode-is-unset"),
        pytest.param(blocks(mode=BOTH_MODES), replace(DEFAULT, disruption_mode=single()), id="of-both-modes-single"),
        pytest.param(
            blocks(claims=[claim("nic", template_name="b")]),
            replace(DEFAULT, resource_claims=(claim("nic", template_name="b"),)),
            id="claims-replace-the-list",
        ),
        pytest.param(blocks(claims=[]), DEFAULT, id="no-claims-are-unset"),
    ],
)
def test_a_block_replaces_the_default_as_a_whole(user: WorkloadInput, want: SchedulingConfig) -> None:
    """Per block, never per field; the class is never the user's."""
    assert resolve(leaf(default_config=DEFAULT, input=user)) == want


@pytest.mark.parametrize(
    ("policy", "want"),
    [
        pytest.param(composite_gang(2), gang(2), id="gang"),
        pytest.param(composite_gang(), gang(), id="gang-without-count"),
        pytest.param(composite_basic(), basic(), id="basic"),
        pytest.param(CompositePodGroupSchedulingPolicy(), None, id="empty"),
    ],
)
def test_a_composite_resolves_in_the_shape_of_a_leaf(
    policy: CompositePodGroupSchedulingPolicy, want: PodGroupSchedulingPolicy | None
) -> None:
    """Defaults and callbacks are written once for both sorts."""
    assert resolve(node("root", leaf(), input=blocks(policy))).policy == want


def test_callbacks_have_the_last_word_in_order() -> None:
    """Each sees what the one before returned; None is skipped."""
    item = leaf(
        default_config=DEFAULT,
        callbacks=[
            lambda config: replace(config, priority_class_name=config.priority_class_name + "er"),
            None,
            lambda config: replace(config, priority_class_name=config.priority_class_name + "!"),
        ],
    )
    assert resolve(item).priority_class_name == "higher!"
    assert resolve(item) == resolve(item)


def test_a_callback_that_returns_nothing_is_a_bug() -> None:
    """Configs are frozen, so a callback that meant to change its argument is told so."""
    item = leaf(callbacks=[lambda _: None])
    with pytest.raises(BuilderError, match="must return a SchedulingConfig") as raised:
        resolve(item)
    assert raised.value.field == "spec.scheduling"


@pytest.mark.parametrize(
    ("policy", "want"),
    [
        pytest.param(gang(), gang(4), id="filled-in"),
        pytest.param(gang(2), gang(2), id="the-user-said-it"),
        pytest.param(basic(), basic(), id="no-gang"),
        pytest.param(None, None, id="no-policy"),
    ],
)
def test_default_min_count_fills_in_what_is_missing(
    policy: PodGroupSchedulingPolicy | None, want: PodGroupSchedulingPolicy | None
) -> None:
    """The callback that nearly every controller of gangs needs."""
    assert resolve(leaf(input=blocks(policy), callbacks=[default_min_count(4)])).policy == want


def test_unknown_fields_of_a_block_end_here() -> None:
    """What this version does not know is not written into a Workload."""
    odd = PodGroupResourceClaim(name="gpu", resource_claim_name="a", extra={"new": 1})
    assert resolve(leaf(input=blocks(claims=[odd]))).resource_claims == (claim("gpu", claim_name="a"),)
