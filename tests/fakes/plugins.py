"""Plugins that do as they are told, for tests of those who run them."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from berth_server.config.file import PluginConfig
from berth_server.framework.contracts import Codes
from berth_server.framework.profile import Profile, build
from berth_server.objects.item import Item
from berth_server.queue.events import Cures
from berth_server.state.view import Rows, View


@dataclass
class FakeFilter:
    """Rejects the candidates named in `codes`; `says` False: has nothing to say. Notes the rows that it is asked."""

    NAME: str = "Gate"
    codes: Mapping[str, int] = field(default_factory=dict)
    says: bool = True
    ROW_LOCAL: bool = False
    asked: list[list[str]] = field(default_factory=list)
    failing: str = ""
    ARGUMENTS: ClassVar[Mapping[str, Sequence[object]]] = {}
    REASONS: ClassVar[tuple[str, ...]] = ("Closed", "Broken")
    CURES: ClassVar[Cures] = {"Closed": frozenset(), "Broken": frozenset()}

    def prepare(self, item: Item, view: View) -> object | None:
        """See Plugin."""
        self._fail_in("prepare")
        return self if self.says else None

    def class_key(self, item: Item) -> Hashable:
        """See Plugin."""
        return None

    def filter(self, prepared: object, view: View, rows: Rows | slice) -> Codes:
        """See Filter."""
        self._fail_in("filter")
        names = np.array(view.columns.names)[rows].tolist()
        self.asked.append(names)
        return np.array([self.codes.get(name, 0) for name in names], np.uint8)

    def detail(self, prepared: object, view: View, row: int, code: int) -> str:
        """See Filter."""
        return f"{self.NAME} {view.columns.names[row]} {code}"

    def nearest(self, prepared: object, view: View, rows: Rows, code: int) -> tuple[int, str] | None:
        """See Filter."""
        return int(rows[-1]), f"{self.NAME} {code}"

    def _fail_in(self, step: str) -> None:
        if self.failing == step:
            raise ZeroDivisionError(step)


@dataclass
class FakeScore:
    """Gives every candidate the score that `scores` names, 0 to others; `normalized` takes the place of the result."""

    NAME: str = "Taste"
    scores: Mapping[str, int] = field(default_factory=dict)
    normalized: Callable[[int], Any] | None = None
    says: bool = True
    failing: str = ""
    ARGUMENTS: ClassVar[Mapping[str, Sequence[object]]] = {}
    DEFAULT_WEIGHT: ClassVar[int] = 1

    def prepare(self, item: Item, view: View) -> object | None:
        """See Plugin."""
        self._fail_in("prepare")
        return self if self.says else None

    def class_key(self, item: Item) -> Hashable:
        """See Plugin."""
        return None

    def score(self, prepared: object, view: View, rows: Rows) -> Any:
        """See Score."""
        self._fail_in("score")
        return np.array([self.scores.get(view.columns.names[row], 0) for row in rows.tolist()], np.int64)

    def normalize(self, keys: Any) -> Any:
        """See Score."""
        self._fail_in("normalize")
        return keys if self.normalized is None else self.normalized(len(keys))

    def raw(self, prepared: object, view: View, row: int) -> int:
        """See Score."""
        self._fail_in("raw")
        return self.scores.get(view.columns.names[row], 0)

    def _fail_in(self, step: str) -> None:
        if self.failing == step:
            raise ZeroDivisionError(step)


class _Factory:
    """Stands for a plugin's class in a registry, and gives the one instance that a test holds."""

    def __init__(self, plugin: Any) -> None:
        self.NAME, self.ARGUMENTS = plugin.NAME, plugin.ARGUMENTS
        self._plugin = plugin

    def __call__(self) -> Any:
        return self._plugin


def profile_of(*plugins: Any, weights: Mapping[str, int] | None = None) -> Profile:
    """Build a profile of these very plugins."""
    choices = [PluginConfig(name, weight=weight) for name, weight in (weights or {}).items()]
    return build("test", choices, [_Factory(plugin) for plugin in plugins])
