"""What changed in the state, in the words of those who wait for it. The queue turns facts into activations.

A fact says only what may help or concern somebody; an observation that changes nothing of use makes none.
"""

from dataclasses import dataclass

from berth_server.objects.changes import ChangeKind
from berth_server.state.candidate import PoolKey


@dataclass(frozen=True, slots=True)
class Fact:
    """One change. `runtime` is empty when the whole namespace is concerned; `subject` is the UID of what changed."""

    kind: ChangeKind
    namespace: str
    runtime: str = ""
    subject: str = ""

    @staticmethod
    def of_pool(kind: ChangeKind, pool: PoolKey, subject: str) -> "Fact":
        """Return a fact about one pool."""
        return Fact(kind, pool.namespace, pool.runtime, subject)
