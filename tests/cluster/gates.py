"""The Workload API as an API server of tests serves it: which versions, under which feature gates."""

from collections.abc import Collection

from berth.workload.gates import ALL, Gate

# Not among the versions that are served by default, as everything before v1.
_VERSIONS = ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3")


def workload_flags(gates: Collection[str] = ALL) -> tuple[str, ...]:
    """Return the flags of an API server with exactly these gates open, of those that the Workload API depends on."""
    switches = ",".join(f"{gate}={str(gate in gates).lower()}" for gate in sorted(Gate))
    return f"--runtime-config={','.join(f'{version}=true' for version in _VERSIONS)}", f"--feature-gates={switches}"
