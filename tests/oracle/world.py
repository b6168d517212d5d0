"""A world that the oracle and an engine are both shown, and the draft in which a random one is written.

A world is plain Kubernetes JSON, as an API server would list it: every object has uid, namespace (Nodes have none),
creationTimestamp and resourceVersion, and no two share a uid or a name.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any, TypeVar

from tests.oracle.fields import Json
from tests.oracle.view import Key, Reserved

API_VERSIONS = {"Run": "kruntimes.io/v1alpha1", "PersistentWorkspace": "kruntimes.io/v1alpha1"}
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class World:
    """One world: what exists, when it is looked at, what is reserved, and the Runs to judge.

    `unbound` is the argument of WorkspacePlacement: `ignore` or `wait`.
    """

    objects: list[Json]
    as_of: datetime
    reserved: list[Reserved]
    runs: list[Key]
    unbound: str = "ignore"


@dataclass(slots=True)
class Draft:
    """A world in the making. `main` is the (namespace, runtime) of the pool that most of it is about."""

    rng: Random
    as_of: datetime
    namespaces: list[str]
    runtimes: list[str]
    capacity: dict[str, int]
    objects: list[Json] = field(default_factory=list)
    pods: list[Json] = field(default_factory=list)
    active: list[Json] = field(default_factory=list)
    reserved: list[Reserved] = field(default_factory=list)
    judged: list[Key] = field(default_factory=list)
    run_counts: Counter[str] = field(default_factory=Counter)

    @property
    def main(self) -> Key:
        """Give the namespace and the runtime of the main pool."""
        return self.namespaces[0], self.runtimes[0]

    def chance(self, share: float) -> bool:
        """Be true in that share of the cases."""
        return self.rng.random() < share

    def pick(self, choices: Sequence[T]) -> T:
        """Give one of several at random."""
        return choices[self.rng.randrange(len(choices))]

    def stamp(self, age: float) -> str:
        """Write the instant that is `age` seconds before `as_of`, to the microsecond."""
        moment = self.as_of - timedelta(seconds=age)
        return moment.isoformat(timespec="microseconds" if moment.microsecond else "seconds").replace("+00:00", "Z")

    def next_run(self, namespace: str) -> int:
        """Number the Runs of each namespace, so that namespaces share names."""
        self.run_counts[namespace] += 1
        return self.run_counts[namespace]

    def add(self, kind: str, namespace: str, name: str, **parts: Any) -> Json:
        """Add an object; `labels` and `annotations` go to its metadata, other parts stand beside it."""
        count = len(self.objects)
        metadata = {
            "name": name,
            "namespace": namespace,
            "uid": f"{self.rng.getrandbits(32):08x}-0000-4000-8000-{count:012x}",
            "resourceVersion": str(1000 + count),
            "creationTimestamp": self.stamp(float(self.rng.randrange(60, 7200))),
        }
        metadata |= {part: parts.pop(part) for part in ("labels", "annotations") if part in parts}
        thing = {"apiVersion": API_VERSIONS.get(kind, "v1"), "kind": kind, "metadata": metadata, **parts}
        self.objects.append(thing)
        return thing

    def pods_of(self, namespace: str, runtime: str | None = None) -> list[Json]:
        """List the Pods of a namespace, or of one of its pools."""
        return [
            pod
            for pod in self.pods
            if pod["metadata"]["namespace"] == namespace
            and runtime in {None, (pod["metadata"].get("labels") or {}).get("runtime")}
        ]
