"""Which plugins speak about an item, and what they prepared: the PreFilter step of a cycle.

A plugin that has nothing to say is asked nothing more. Whatever a plugin raises becomes a PluginError with its name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from berth_server.framework.contracts import Filter, Leading, Plugin, PluginError, Prepared, Score
from berth_server.framework.profile import Profile
from berth_server.objects.item import Item
from berth_server.state.view import View

SpeakingFilter = tuple[Filter, int, Prepared]
"""A filter, the offset of its codes in the profile's reasons, and what it prepared."""


@dataclass(frozen=True, slots=True)
class Speakers:
    """`scores`: all scoring plugins, with None where one has nothing to say. `silent`: all that have nothing to say."""

    filters: list[SpeakingFilter]
    scores: list[tuple[Score, int, Prepared | None]]
    leading: tuple[Leading, Prepared] | None
    """The one plugin that alone decides among feasible rows, if there is one and it can lead."""
    speaking: tuple[Plugin, ...]
    silent: tuple[Plugin, ...]

    @property
    def row_local(self) -> bool:
        """Whether the verdict of every filter on a row depends on that row and the class key alone."""
        return all(plugin.ROW_LOCAL for plugin, _, _ in self.filters)


def prepare(profile: Profile, item: Item, view: View) -> Speakers:
    """Ask every plugin of the profile. Raises PluginError."""
    filters: list[SpeakingFilter] = []
    speaking: list[Plugin] = []
    silent: list[Plugin] = []
    offset = 0
    for plugin in profile.filters:
        prepared = guarded(plugin.NAME, plugin.prepare, item, view)
        if prepared is not None:
            filters.append((plugin, offset, prepared))
        (silent if prepared is None else speaking).append(plugin)
        offset += len(plugin.REASONS)
    scores = [(plugin, weight, guarded(plugin.NAME, plugin.prepare, item, view)) for plugin, weight in profile.scores]
    for score, _, prepared in scores:
        (silent if prepared is None else speaking).append(score)
    leaders = [
        (leader, prepared)
        for leader, (_, _, prepared) in zip(profile.leaders, scores, strict=True)
        if prepared is not None
    ]
    leader, prepared = leaders[0] if len(leaders) == 1 else (None, None)
    leading = None if leader is None else (leader, prepared)
    return Speakers(filters, scores, leading, tuple(speaking), tuple(silent))


def guarded(plugin: str, call: Callable[..., Any], *arguments: Any) -> Any:
    """Call a plugin; what it raises becomes a PluginError."""
    try:
        return call(*arguments)
    except PluginError:
        raise
    except Exception as error:
        raise PluginError(plugin, f"{type(error).__name__}: {error}") from error
