"""Which Runs are where, by label, in one namespace: what affinity attracts to and what anti-affinity repels from.

Runs with equal labels on one Runtime Pod are one entry with a count, and a selector is asked once per distinct label
set, so a query costs with the variety of labels, not with the number of Runs. Whether a Pod is in view is the caller's
to say. Written by `ClusterState` alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from berth_server.objects.selectors import Operator, Selector

LabelSet = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Target:
    """A Run as others see it: its labels, and the required anti-affinity terms that repel from where it is."""

    labels: LabelSet
    repels: tuple[Selector, ...]


class Counts(dict[str, int]):
    """candidate UID -> how many."""

    def add(self, candidate: str, amount: int) -> None:
        """Add, forgetting what comes to zero."""
        left = self.get(candidate, 0) + amount
        if left:
            self[candidate] = left
        else:
            del self[candidate]


class Targets:
    """The targets of one namespace."""

    __slots__ = ("_by_labels", "_by_pair", "_repelling", "generation")

    def __init__(self) -> None:
        self._by_labels: dict[LabelSet, Counts] = {}
        self._by_pair: dict[tuple[str, str], set[LabelSet]] = {}
        self._repelling: dict[Selector, Counts] = {}
        self.generation = 0
        """Rises with every change."""

    def add(self, target: Target, candidate: str) -> None:
        """A Run with these labels and terms is on `candidate`."""
        self.generation += 1
        counts = self._by_labels.get(target.labels)
        if counts is None:
            counts = self._by_labels[target.labels] = Counts()
            for pair in target.labels:
                self._by_pair.setdefault(pair, set()).add(target.labels)
        counts.add(candidate, 1)
        for selector in target.repels:
            self._repelling.setdefault(selector, Counts()).add(candidate, 1)

    def remove(self, target: Target, candidate: str) -> None:
        """Undo one `add` with the same arguments."""
        self.generation += 1
        counts = self._by_labels[target.labels]
        counts.add(candidate, -1)
        if not counts:
            del self._by_labels[target.labels]
            for pair in target.labels:
                self._by_pair[pair].discard(target.labels)
                if not self._by_pair[pair]:
                    del self._by_pair[pair]
        for selector in target.repels:
            self._repelling[selector].add(candidate, -1)
            if not self._repelling[selector]:
                del self._repelling[selector]

    def matching(self, selector: Selector, besides: Mapping[str, Target]) -> set[str]:
        """UIDs of the candidates with a target that `selector` selects, leaving out one Run.

        `besides`: where that Run itself is, candidate UID -> as it was added there.
        """
        found: set[str] = set()
        for labels in self._label_sets(selector):
            if selector.matches(dict(labels)):
                counts = self._by_labels[labels]
                found.update(
                    candidate
                    for candidate, count in counts.items()
                    if count > (candidate in besides and besides[candidate].labels == labels)
                )
        return found

    def repelling(self, labels: Mapping[str, str], besides: Mapping[str, Target]) -> set[str]:
        """UIDs of the candidates with a Run whose required anti-affinity selects `labels`, leaving out one Run."""
        found: set[str] = set()
        for selector, counts in self._repelling.items():
            if selector.matches(labels):
                found.update(
                    candidate
                    for candidate, count in counts.items()
                    if count > (besides[candidate].repels.count(selector) if candidate in besides else 0)
                )
        return found

    @property
    def repels(self) -> bool:
        """Whether any Run of the namespace repels anything at all."""
        return bool(self._repelling)

    def __bool__(self) -> bool:
        return bool(self._by_labels)

    def _label_sets(self, selector: Selector) -> Iterable[LabelSet]:
        """The label sets that could match: by the rarest In requirement where there is one, else all of them."""
        if selector.requirements is None:
            return ()
        sources = [
            [self._by_pair.get((wanted.key, value), ()) for value in wanted.values]
            for wanted in selector.requirements
            if wanted.operator is Operator.IN
        ]
        if not sources:
            return self._by_labels
        rarest = min(sources, key=lambda sets: sum(map(len, sets)))
        return [labels for sets in rarest for labels in sets]
