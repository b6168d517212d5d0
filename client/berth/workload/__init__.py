"""The Workload API of Kubernetes (scheduling.k8s.io) for controller authors: models, versions, validation, review.

Make a group and write its manifest:

    from berth.workload import ObjectMeta, PodGroup, PodGroupSpec, gang, topology, write

    group = PodGroup(
        metadata=ObjectMeta(name="training", namespace="ml"),
        spec=PodGroupSpec(scheduling_policy=gang(8), scheduling_constraints=topology("topology.kubernetes.io/zone")),
    )
    manifest = write(group)  # a dict, ready for any Kubernetes client

Read any version into the same shape, or ask what an API server would say:

    from berth.workload import normalise, review

    group = normalise(manifest)
    answer = review("create", manifest, version="v1beta1")
    for cause in answer.causes:
        print(cause.field, cause.reason, cause.message)

Models are frozen structs that hold what an object says, right or wrong; `review` judges it. v1alpha2, the spelling of
Kubernetes v1.36, is read and written from its documentation alone: no API server since v1.37 serves it.
"""

from berth.workload.admission import FINALIZER, PriorityClasses
from berth.workload.answer import Answer
from berth.workload.codec import DecodeError
from berth.workload.errors import CauseType, FieldError
from berth.workload.gates import ALL, Gate
from berth.workload.models import (
    CompositeGangSchedulingPolicy,
    CompositePodGroup,
    CompositePodGroupSchedulingPolicy,
    CompositePodGroupSpec,
    CompositePodGroupStatus,
    CompositePodGroupTemplate,
    Condition,
    DisruptionMode,
    Empty,
    GangSchedulingPolicy,
    ObjectMeta,
    OwnerReference,
    PodGroup,
    PodGroupResourceClaim,
    PodGroupResourceClaimStatus,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
    PodGroupStatus,
    PodGroupTemplate,
    PriorityClass,
    SchedulingConstraints,
    TopologyConstraint,
    TypedLocalObjectReference,
    Workload,
    WorkloadReference,
    WorkloadSpec,
    basic,
    claim,
    composite_basic,
    composite_gang,
    gang,
    single,
    topology,
    whole,
)
from berth.workload.review import review
from berth.workload.rules import DOCUMENTED, SERVER, Rules, rules_of
from berth.workload.v1alpha2 import NotExpressibleError
from berth.workload.versions import UnknownFieldsError, normalise, read_part, write, write_part

__all__ = [
    "ALL",
    "DOCUMENTED",
    "FINALIZER",
    "SERVER",
    "Answer",
    "CauseType",
    "CompositeGangSchedulingPolicy",
    "CompositePodGroup",
    "CompositePodGroupSchedulingPolicy",
    "CompositePodGroupSpec",
    "CompositePodGroupStatus",
    "CompositePodGroupTemplate",
    "Condition",
    "DecodeError",
    "DisruptionMode",
    "Empty",
    "FieldError",
    "GangSchedulingPolicy",
    "Gate",
    "NotExpressibleError",
    "ObjectMeta",
    "OwnerReference",
    "PodGroup",
    "PodGroupResourceClaim",
    "PodGroupResourceClaimStatus",
    "PodGroupSchedulingPolicy",
    "PodGroupSpec",
    "PodGroupStatus",
    "PodGroupTemplate",
    "PriorityClass",
    "PriorityClasses",
    "Rules",
    "SchedulingConstraints",
    "TopologyConstraint",
    "TypedLocalObjectReference",
    "UnknownFieldsError",
    "Workload",
    "WorkloadReference",
    "WorkloadSpec",
    "basic",
    "claim",
    "composite_basic",
    "composite_gang",
    "gang",
    "normalise",
    "read_part",
    "review",
    "rules_of",
    "single",
    "topology",
    "whole",
    "write",
    "write_part",
]
