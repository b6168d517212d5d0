"""Building blocks: the parts that other APIs embed in their own specs (scheduling.k8s.io/v1alpha3 `Workload*` types).

A block is judged by itself: an API that embeds it decides which of its fields may change, how many claims there may be
and what a count that is left out means.
"""

from collections.abc import Sequence

from berth.workload.errors import FieldError, invalid
from berth.workload.gates import ALL
from berth.workload.models import DisruptionMode, PodGroupResourceClaim, SchedulingConstraints
from berth.workload.rules import SERVER
from berth.workload.validation.case import Case, Errors
from berth.workload.validation.claims import resource_claim
from berth.workload.validation.placement import disruption_mode, topology
from berth.workload.validation.policy import Policy, min_count
from berth.workload.validation.shapes import exactly_one

_CASE = Case(update=False, gates=ALL, rules=SERVER)


def validate_policy_block(policy: Policy, path: str) -> list[FieldError]:
    """Exactly one member; a count, if given, is at least 1 (0 is Invalid here, not Required)."""
    return list(_policy(policy, path))


def validate_constraints_block(constraints: SchedulingConstraints, path: str) -> list[FieldError]:
    """At most one topology item, whose key is a label key."""
    return list(topology(constraints, path))


def validate_disruption_mode_block(mode: DisruptionMode, path: str) -> list[FieldError]:
    """Exactly one of `single` and `all`."""
    return list(disruption_mode(mode, None, path, _CASE))


def validate_claim_blocks(claims: Sequence[PodGroupResourceClaim], path: str) -> list[FieldError]:
    """Each claim alone: a short name, exactly one source. Neither their number nor their uniqueness is judged."""
    return [error for index, item in enumerate(claims) for error in resource_claim(item, f"{path}[{index}]", _CASE)]


def _policy(policy: Policy, path: str) -> Errors:
    members = {"basic": policy.basic is not None, "gang": policy.gang is not None}
    yield from exactly_one(members, None, path, _CASE)
    name, count = min_count(policy)
    if count is not None and count < 1:
        yield invalid(f"{path}.gang.{name}", count, "must be greater than or equal to 1")
