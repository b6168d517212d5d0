"""Building blocks that another API embeds: each judged by itself."""

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
    composite_gang,
    gang,
    single,
    topology,
)
from berth.workload.validation import (
    validate_claim_blocks,
    validate_constraints_block,
    validate_disruption_mode_block,
    validate_policy_block,
)

BOTH = PodGroupSchedulingPolicy(basic=Empty(), gang=gang(0).gang)


@pytest.mark.parametrize(
    ("errors", "want"),
    [
        pytest.param(validate_policy_block(basic(), "p"), [], id="basic"),
        pytest.param(validate_policy_block(gang(), "p"), [], id="gang-without-count"),
        pytest.param(validate_policy_block(gang(0), "p"), [("p.gang.minCount", "Invalid")], id="zero-is-no-count"),
        pytest.param(
            validate_policy_block(composite_gang(-1), "p"), [("p.gang.minGroupCount", "Invalid")], id="composite-count"
        ),
        pytest.param(validate_policy_block(PodGroupSchedulingPolicy(), "p"), [("p", "Invalid")], id="no-member"),
        pytest.param(validate_policy_block(BOTH, "p"), [("p", "Invalid"), ("p.gang.minCount", "Invalid")], id="both"),
        pytest.param(validate_constraints_block(topology("rack"), "c"), [], id="one-key"),
        pytest.param(validate_constraints_block(SchedulingConstraints(), "c"), [], id="no-key"),
        pytest.param(
            validate_constraints_block(SchedulingConstraints(topology=(TopologyConstraint(),) * 2), "c"),
            [("c.topology", "TooMany")],
            id="two-keys-hide-what-is-wrong-with-them",
        ),
        pytest.param(
            validate_constraints_block(topology(""), "c"), [("c.topology[0].key", "Required")], id="empty-key"
        ),
        pytest.param(validate_disruption_mode_block(single(), "m"), [], id="single"),
        pytest.param(validate_disruption_mode_block(DisruptionMode(), "m"), [("m", "Invalid")], id="no-mode"),
        pytest.param(
            validate_claim_blocks([claim("a", claim_name="x")] * 5, "r"), [], id="neither-number-nor-uniqueness"
        ),
        pytest.param(
            validate_claim_blocks([PodGroupResourceClaim(name="A", resource_claim_name="")], "r"),
            [("r[0].name", "Invalid"), ("r[0].resourceClaimName", "Invalid")],
            id="bad-claim",
        ),
    ],
)
def test_blocks(errors: Any, want: list[tuple[str, str]]) -> None:
    """Fields and reasons, at the path that the embedding API gives."""
    assert [(error.field, error.reason.removeprefix("FieldValue")) for error in errors] == want


def test_a_claim_has_one_source() -> None:
    """The shorthand refuses what the API would."""
    with pytest.raises(ValueError, match="exactly one"):
        claim("a")
    with pytest.raises(ValueError, match="exactly one"):
        claim("a", claim_name="x", template_name="y")
