"""The configuration file: which plugins judge, and defaults for the flags. Frozen after it was read once.

Whether a plugin of that name exists, and takes these arguments, is checked against the registry where things are wired.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from berth_server.config.faults import ConfigError
from berth_server.config.strict_yaml import load_yaml

DEFAULT_PROFILE: Final = "default"
MAX_WEIGHT: Final = 1_000_000
_MAX_NAME: Final = 253
FILE_SETTINGS: Final = (
    "cluster",
    "listen",
    "metricsListen",
    "driver",
    "role",
    "asOf",
    "play",
    "logFormat",
    "reflection",
    "kubeconfig",
    "context",
    "events",
    "traces",
)


@dataclass(frozen=True, slots=True)
class PluginConfig:
    """What the operator changes about one plugin. `weight` None: the plugin's own. `path`: where the file says so."""

    name: str
    enabled: bool = True
    weight: int | None = None
    arguments: Mapping[str, object] = field(default_factory=dict)
    path: str = ""


@dataclass(frozen=True, slots=True)
class ProfileConfig:
    """A named choice of plugins; those that it does not mention are as they come."""

    name: str
    plugins: tuple[PluginConfig, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """The whole file. There is always a profile `default`; `settings` are its defaults for flags, not yet checked."""

    profiles: tuple[ProfileConfig, ...] = (ProfileConfig(DEFAULT_PROFILE),)
    settings: Mapping[str, Any] = field(default_factory=dict)


def parse_config(text: str) -> Config:
    """Read a file's text. Raises ConfigError with every fault, each with its path in the file."""
    try:
        data = load_yaml(text)
    except ValueError as error:
        raise ConfigError([str(error)]) from error
    reader = _Reader()
    config = reader.config({} if data is None else data)
    if reader.faults:
        raise ConfigError(reader.faults)
    return config


class _Reader:
    """Walks plain data, collecting faults; what it returns is of use only when there are none."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def config(self, data: Any) -> Config:
        fields = self._fields(data, "", ("profiles", *FILE_SETTINGS))
        settings = {key: fields[key] for key in FILE_SETTINGS if fields.get(key) is not None}
        profiles = self._profiles(fields.get("profiles"))
        if all(profile.name != DEFAULT_PROFILE for profile in profiles):
            profiles = (ProfileConfig(DEFAULT_PROFILE), *profiles)
        return Config(profiles, MappingProxyType(settings))

    def _profiles(self, data: Any) -> tuple[ProfileConfig, ...]:
        if data is None:
            return ()
        if not isinstance(data, list):
            self._fault("profiles", "must be a list")
            return ()
        profiles = tuple(self._profile(each, f"profiles[{index}]") for index, each in enumerate(data))
        names = [profile.name for profile in profiles]
        for index, name in enumerate(names):
            if name in names[:index]:
                self._fault(f"profiles[{index}].name", f"{name!r} is the name of profiles[{names.index(name)}] already")
        return profiles

    def _profile(self, data: Any, path: str) -> ProfileConfig:
        fields = self._fields(data, path, ("name", "plugins"))
        name = fields.get("name")
        if not isinstance(name, str) or not 0 < len(name) <= _MAX_NAME:
            self._fault(f"{path}.name", f"must be a string of 1 to {_MAX_NAME} characters")
            name = path  # a name that no other profile has
        plugins = self._object(fields.get("plugins"), f"{path}.plugins")
        return ProfileConfig(
            name, tuple(self._plugin(name, each, f"{path}.plugins.{name}") for name, each in plugins.items())
        )

    def _plugin(self, name: str, data: Any, path: str) -> PluginConfig:
        fields = self._fields(data, path, ("enabled", "weight", "arguments"))
        enabled = fields.get("enabled", True)
        if not isinstance(enabled, bool):
            self._fault(f"{path}.enabled", "must be true or false")
        weight = fields.get("weight")
        # A boolean is an int to Python.
        if weight is not None and (not isinstance(weight, int) or isinstance(weight, bool)):
            self._fault(f"{path}.weight", f"must be an integer, 1 to {MAX_WEIGHT}")
        elif weight is not None and not 1 <= weight <= MAX_WEIGHT:
            self._fault(f"{path}.weight", f"must be 1 to {MAX_WEIGHT}")
        arguments = self._object(fields.get("arguments"), f"{path}.arguments")
        return PluginConfig(name, enabled is not False, weight, MappingProxyType(arguments), path)

    def _fields(self, data: Any, path: str, known: Sequence[str]) -> dict[str, Any]:
        fields = self._object(data, path)
        for key in fields:
            if key not in known:
                self._fault(f"{path}.{key}" if path else key, f"is not known; known are {', '.join(known)}")
        return fields

    def _object(self, data: Any, path: str) -> dict[str, Any]:
        if data is None:
            return {}
        if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
            self._fault(path or "the file", "must be an object with names as keys")
            return {}
        return data

    def _fault(self, path: str, sentence: str) -> None:
        self.faults.append(f"{path}: {sentence}")
