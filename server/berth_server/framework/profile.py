"""A profile: which plugins judge an item, in which order, with which weights. Built once at start from the registry.

There is one explicit registry list; nothing registers itself on import. Whatever is wrong in the operator's choice is
an error at start that names its path in the config file.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from berth_server.config.file import PluginConfig
from berth_server.framework.contracts import Filter, Leading, Plugin, Score
from berth_server.queue.events import Cures

Factory = Callable[..., Plugin]
"""A plugin class: called with its arguments by keyword."""


class ProfileError(ValueError):
    """A profile that can't be built; the message starts with the path of what is wrong."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The plugins of one profile, in the order of the registry, which is the order in which they are asked."""

    name: str
    filters: tuple[Filter, ...]
    scores: tuple[tuple[Score, int], ...]
    leaders: tuple[Leading | None, ...]
    """The scores again, in their order: those that can name their best row without ranking all."""
    arguments: Mapping[str, Mapping[str, object]]

    @property
    def reasons(self) -> tuple[tuple[str, str], ...]:
        """All (plugin, reason) pairs, in filter-chain order."""
        return tuple((plugin.NAME, reason) for plugin in self.filters for reason in plugin.REASONS)

    @property
    def cures(self) -> Cures:
        """For every reason, the events that can cure it."""
        return {reason: cures for plugin in self.filters for reason, cures in plugin.CURES.items()}


def build(name: str, choices: Iterable[PluginConfig], registry: Sequence[Factory]) -> Profile:
    """Build a profile of every plugin of `registry` that no choice switches off.

    Raises ProfileError for an unknown name, an unknown argument, a value that the plugin does not accept, a weight for
    a plugin that does not score. (What needs no registry to be seen is checked where the file is read.)
    """
    known = {_name_of(factory): factory for factory in registry}
    if len(known) != len(registry):
        raise ProfileError("the registry lists one plugin twice")
    chosen: dict[str, PluginConfig] = {}
    for choice in choices:
        if choice.name not in known:
            raise ProfileError(f"{choice.path}: unknown plugin {choice.name!r}; known are {', '.join(known)}")
        chosen[choice.name] = choice
    filters: list[Filter] = []
    scores: list[tuple[Score, int]] = []
    arguments = {}
    for plugin_name, factory in known.items():
        choice = chosen.get(plugin_name, PluginConfig(plugin_name))
        given = _arguments(factory, choice)
        if not choice.enabled:
            continue
        plugin = factory(**given)
        arguments[plugin_name] = given
        if isinstance(plugin, Filter):
            filters.append(plugin)
        if isinstance(plugin, Score):
            scores.append((plugin, _weight(plugin, choice)))
        elif choice.weight is not None:
            raise ProfileError(f"{choice.path}.weight: plugin {plugin_name!r} does not score, so it has no weight")
    # A test against a Protocol is slow: it is made once, not in every cycle.
    leaders = tuple(plugin if isinstance(plugin, Leading) else None for plugin, _ in scores)
    return Profile(name, tuple(filters), tuple(scores), leaders, arguments)


def _name_of(factory: Factory) -> str:
    name: str = factory.NAME  # type: ignore[attr-defined]  # a plugin class; Callable can't say so
    return name


def _arguments(factory: Factory, choice: PluginConfig) -> dict[str, object]:
    accepted: Mapping[str, Sequence[object]] = factory.ARGUMENTS  # type: ignore[attr-defined]  # see _name_of
    given = {argument: values[0] for argument, values in accepted.items()}
    for argument, value in choice.arguments.items():
        path = f"{choice.path}.arguments.{argument}"
        if argument not in accepted:
            known = ", ".join(accepted) or "none"
            raise ProfileError(f"{path}: unknown argument of {choice.name}; known are: {known}")
        if value not in accepted[argument]:
            raise ProfileError(f"{path}: must be one of {', '.join(map(str, accepted[argument]))}, not {value!r}")
        given[argument] = value
    return given


def _weight(plugin: Score, choice: PluginConfig) -> int:
    return plugin.DEFAULT_WEIGHT if choice.weight is None else choice.weight
