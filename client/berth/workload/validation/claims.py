"""resourceClaims of leaf templates and PodGroups, and their statuses (KEP-5729, dynamic resources for workloads)."""

from collections.abc import Sequence

from berth.workload.errors import frozen, invalid, too_many
from berth.workload.models import PodGroupResourceClaim, PodGroupResourceClaimStatus
from berth.workload.validation.case import Case, Errors, formatted, required_name
from berth.workload.validation.formats import long_name, short_name
from berth.workload.validation.shapes import exactly_one, unique

MAX_CLAIMS = 4

Claims = Sequence[PodGroupResourceClaim]
Statuses = Sequence[PodGroupResourceClaimStatus]


def resource_claims(new: Claims, old: Claims, path: str, case: Case) -> Errors:
    """`resourceClaims`: may not change, not even in order; at most 4, no name twice. A target may serve twice."""
    if case.same(new, old):
        return
    if case.update:
        yield frozen(path)
    if len(new) > MAX_CLAIMS:
        yield too_many(path, len(new), MAX_CLAIMS)
    elif not case.update:
        yield from unique((item.name for item in new), path)
        for index, item in enumerate(new):
            yield from resource_claim(item, f"{path}[{index}]", case)


def resource_claim(new: PodGroupResourceClaim, path: str, case: Case) -> Errors:
    """One claim: a short name and exactly one source. An empty source counts as set, and is wrong."""
    sources = {
        "resourceClaimName": new.resource_claim_name,
        "resourceClaimTemplateName": new.resource_claim_template_name,
    }
    yield from exactly_one({name: value is not None for name, value in sources.items()}, None, path, case)
    yield from required_name(new.name, f"{path}.name", short_name)
    for name, value in sources.items():
        if value is not None:
            yield from formatted(value, f"{path}.{name}", long_name)


def claim_statuses(new: Statuses, old: Statuses, claims: Claims, path: str) -> Errors:
    """`status.resourceClaimStatuses`: at most 4, no name twice, each naming an entry of `spec.resourceClaims`."""
    if new != old and len(new) > MAX_CLAIMS:
        yield too_many(path, len(new), MAX_CLAIMS)
    elif new != old:
        yield from unique((item.name for item in new), path)
        stored = {item.name: item for item in reversed(old)}
        for index, item in enumerate(new):
            if item != stored.get(item.name) and item.resource_claim_name is not None:
                yield from formatted(item.resource_claim_name, f"{path}[{index}].resourceClaimName", long_name)
    names = {claim.name for claim in claims}
    for index, item in enumerate(new):
        if item.name not in names:
            yield invalid(f"{path}[{index}].name", item.name, "must match the name of an entry in spec.resourceClaims")
