"""The rules of scheduling.k8s.io, one topic a module; `berth.workload.review` puts them together.

Messages are sentences of our own; fields and reasons are Kubernetes' and exact.
"""

from berth.workload.validation.blocks import (
    validate_claim_blocks,
    validate_constraints_block,
    validate_disruption_mode_block,
    validate_policy_block,
)
from berth.workload.validation.case import Case
from berth.workload.validation.objects import (
    composite_pod_group,
    composite_pod_group_status,
    pod_group,
    pod_group_status,
    workload,
)

__all__ = [
    "Case",
    "composite_pod_group",
    "composite_pod_group_status",
    "pod_group",
    "pod_group_status",
    "validate_claim_blocks",
    "validate_constraints_block",
    "validate_disruption_mode_block",
    "validate_policy_block",
    "workload",
]
