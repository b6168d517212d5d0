"""Small trees and options for the tests of the workload builder."""

from collections.abc import Sequence
from typing import Any

from berth.workload import DisruptionMode, FieldError, OwnerReference, PodGroupResourceClaim, SchedulingConstraints
from berth.workload.builder import (
    Block,
    BuildOptions,
    ModeOption,
    PolicyOption,
    SchedulingConfig,
    WorkloadInput,
    WorkloadItem,
)
from berth.workload.builder.item import PolicyData

OWNER = OwnerReference(api_version="batch/v1", kind="Job", name="training", uid="job-uid", controller=True)


def blocks(
    policy: PolicyData | None = None,
    constraints: SchedulingConstraints | None = None,
    mode: DisruptionMode | None = None,
    claims: Sequence[PodGroupResourceClaim] | None = None,
) -> WorkloadInput:
    """What a user said, at the paths that a Job has."""
    return WorkloadInput(
        policy=Block(policy, "schedulingPolicy"),
        constraints=Block(constraints, "schedulingConstraints"),
        disruption_mode=Block(mode, "disruptionMode"),
        resource_claims=Block(claims, "resourceClaims"),
    )


def leaf(name: str = "workers", *, path: str = "spec.scheduling", **fields: Any) -> WorkloadItem:
    """An item with Pods."""
    return WorkloadItem(name=name, path=path, **{"input": blocks(), **fields})


def node(name: str, *children: WorkloadItem, path: str = "spec", **fields: Any) -> WorkloadItem:
    """An item of items."""
    return WorkloadItem(name=name, path=path, children=children, **{"input": blocks(), **fields})


def default(**fields: Any) -> SchedulingConfig:
    """A controller's default."""
    return SchedulingConfig(**fields)


def options(**fields: Any) -> BuildOptions:
    """A controller that allows everything."""
    everything: dict[str, Any] = {
        "name": "training-wl",
        "namespace": "ml",
        "owner": OWNER,
        "allowed_policies": set(PolicyOption),
        "allowed_disruption_modes": set(ModeOption),
    }
    return BuildOptions(**{**everything, **fields})


def shown(errors: Sequence[FieldError]) -> list[tuple[str, str]]:
    """Fields and reasons, in order."""
    return [(error.field, error.reason.removeprefix("FieldValue")) for error in errors]
