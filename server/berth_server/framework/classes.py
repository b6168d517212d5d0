"""What was computed for items that look alike, brought up to date by the rows that changed since.

A pool is large and a decision changes one row of it: the next item of the same class needs that row recomputed and a
minimum taken, nothing more. Full and patched results come from the same expressions. Bounded; holds no state that a
view does not give again.
"""

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from berth_server.framework.contracts import Codes, Leading, Plugin, Prepared
from berth_server.framework.speakers import Speakers, SpeakingFilter, guarded
from berth_server.objects.item import Item
from berth_server.state.pool import Columns
from berth_server.state.view import Rows, View

if TYPE_CHECKING:
    from berth_server.framework.engine import Cycle

MAX_CLASSES = 256
MAX_CODES = 256


@dataclass(slots=True)
class _Class:
    """Verdicts of one class on one layout of one pool, as of a position in the pool's log."""

    key: tuple[Hashable, ...]
    speakers: Speakers
    """What they prepared holds for every item of the class on this layout."""
    leading: tuple[Leading, Prepared]
    columns: Columns
    capacity_generation: int
    position: int
    codes: Codes
    counts: list[int]
    measures: list[NDArray[Any]]


class ClassCache:
    """(pool, request vector) -> verdicts. The least recently used goes first."""

    __slots__ = ("_classes",)

    def __init__(self) -> None:
        self._classes: OrderedDict[Hashable, _Class] = OrderedDict()

    def decide(self, cycle: "Cycle") -> tuple[int, Sequence[int]] | None:
        """Return the best row for the item, or -1, and how many rows have each code; None: it is of no such class.

        The view must be shared (nothing left out of it). The counts are live until the next call. The cycle is given
        what the plugins prepared for the class.
        """
        item, view = cycle.item, cycle.view
        slot = (view.pool.key, item.spec.requests)
        known = self._classes.get(slot)
        if known is None or not self._holds(known, cycle):
            known = _compute(cycle)
            if known is None:
                return None
            self._keep(slot, known)
        changed = view.pool.changed_since(known.position)
        if changed is None:
            known = _compute(cycle)
            assert known is not None
            self._keep(slot, known)
        elif changed:
            _patch(known, changed, view)
        self._classes.move_to_end(slot)
        cycle.speakers = known.speakers
        plugin, prepared = known.leading
        return guarded(plugin.NAME, plugin.leader, prepared, view, known.measures), known.counts

    def _holds(self, known: _Class, cycle: "Cycle") -> bool:
        """Whether what is known speaks of this layout, and of an item about which the same plugins speak."""
        view, item = cycle.view, cycle.item
        return (
            known.columns is view.columns
            and known.capacity_generation == view.pool.capacity_generation
            and known.key == _key(known.speakers.speaking, item)
            and all(guarded(plugin.NAME, plugin.prepare, item, view) is None for plugin in known.speakers.silent)
        )

    def _keep(self, slot: Hashable, known: _Class) -> None:
        self._classes[slot] = known
        if len(self._classes) > MAX_CLASSES:
            self._classes.popitem(last=False)

    def __len__(self) -> int:
        return len(self._classes)


def _key(speaking: Sequence[Plugin], item: Item) -> tuple[Hashable, ...]:
    """Everything of the item that the verdict of those who speak depends on."""
    return tuple(plugin.class_key(item) for plugin in speaking)


def _compute(cycle: "Cycle") -> _Class | None:
    speakers, view = cycle.speakers, cycle.view
    if speakers.leading is None or not speakers.row_local:
        return None
    codes = _chain(view, speakers.filters, slice(None), len(view.columns))
    return _Class(
        _key(speakers.speaking, cycle.item),
        speakers,
        speakers.leading,
        view.columns,
        view.pool.capacity_generation,
        view.pool.position(),
        codes,
        _count(codes),
        _measure(view, speakers.leading, slice(None), codes),
    )


def _count(codes: Codes) -> list[int]:
    """Return how many rows have each code. Most have 0, so only the others are counted one by one."""
    rejected = codes[codes != 0]
    counts: list[int] = np.bincount(rejected, minlength=MAX_CODES).tolist()
    counts[0] = len(codes) - len(rejected)
    return counts


def _patch(known: _Class, changed: list[int], view: View) -> None:
    numbers = sorted(set(changed)) if len(changed) > 1 else changed
    # A slice costs a tenth of an index array, and one row is the normal case.
    rows = np.array(numbers, np.intp) if len(numbers) > 1 else slice(numbers[0], numbers[0] + 1)
    codes = _chain(view, known.speakers.filters, rows, len(numbers))
    for before, after in zip(known.codes[rows].tolist(), codes.tolist(), strict=True):
        known.counts[before] -= 1
        known.counts[after] += 1
    known.codes[rows] = codes
    for whole, part in zip(known.measures, _measure(view, known.leading, rows, codes), strict=True):
        whole[rows] = part
    known.position = view.pool.position()


def _chain(view: View, filters: Sequence[SpeakingFilter], rows: Rows | slice, count: int) -> Codes:
    """Return for each of `count` rows 0, or the code of its first rejection, asking every filter about every row."""
    codes: Codes | None = None
    for plugin, offset, prepared in filters:
        verdict = guarded(plugin.NAME, plugin.filter, prepared, view, rows)
        if offset:
            verdict = np.where(verdict, verdict + np.uint8(offset), np.uint8(0))
        codes = verdict if codes is None else np.where(codes, codes, verdict)
    return np.zeros(count, np.uint8) if codes is None else codes


def _measure(view: View, leading: tuple[Leading, Prepared], rows: Rows | slice, codes: Codes) -> list[NDArray[Any]]:
    plugin, prepared = leading
    return list(guarded(plugin.NAME, plugin.measure, prepared, view, rows, codes == 0))
