"""The feature gates of Kubernetes v1.37 that decide which fields and kinds of groups an API server knows.

All are off by default in a cluster. A gate that is closed hides its fields without a word, so a manifest that is right
everywhere else may lose its meaning; `review` shows what is left of it.
"""

from collections.abc import Collection
from enum import StrEnum


class Gate(StrEnum):
    """A feature gate, by the name that `--feature-gates` takes."""

    GENERIC_WORKLOAD = "GenericWorkload"
    TOPOLOGY = "TopologyAwareWorkloadScheduling"
    COMPOSITE = "CompositePodGroup"
    PREEMPTION_POLICY = "PodGroupPreemptionPolicy"
    RESOURCE_CLAIMS = "DRAWorkloadResourceClaims"
    WORKLOAD_WITH_JOB = "WorkloadWithJob"
    # Not about groups, but it decides whether a Pod may have eviction responders, which exclude a group.
    EVICTION_REQUESTS = "EvictionRequestAPI"


ALL: frozenset[Gate] = frozenset(Gate) - {Gate.EVICTION_REQUESTS}
NONE: frozenset[Gate] = frozenset()

_NEEDS = {
    Gate.TOPOLOGY: (Gate.GENERIC_WORKLOAD,),
    Gate.COMPOSITE: (Gate.GENERIC_WORKLOAD, Gate.TOPOLOGY),
    Gate.PREEMPTION_POLICY: (Gate.GENERIC_WORKLOAD,),
    Gate.RESOURCE_CLAIMS: (Gate.GENERIC_WORKLOAD,),
    Gate.WORKLOAD_WITH_JOB: (Gate.GENERIC_WORKLOAD,),
}


def open_gates(names: Collection[str]) -> frozenset[Gate]:
    """Check a set of gates as a component does when it starts.

    Raises:
        ValueError: no gate has that name, or one is open whose prerequisite is closed.
    """
    gates = frozenset(Gate(name) for name in names)
    for gate in sorted(gates):
        for needed in _NEEDS.get(gate, ()):
            if needed not in gates:
                raise ValueError(f"{gate} needs {needed}")
    return gates
