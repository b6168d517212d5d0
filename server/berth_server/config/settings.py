"""What the process was told: flags over environment (BERTH_*) over the configuration file over defaults.

Each value is checked where it comes from, so that a fault names the flag, the variable, or the path in the file.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, cast

from berth_server.config.addresses import ListenAddress, TcpAddress, parse_listen_address, parse_tcp_address
from berth_server.config.faults import ConfigError
from berth_server.config.file import FILE_SETTINGS, Config, parse_config
from berth_server.objects.duration import parse_duration
from berth_server.objects.timestamps import parse_time

DEFAULT_LISTEN: Final = TcpAddress("127.0.0.1", 50051)
DEFAULT_METRICS_LISTEN: Final = TcpAddress("127.0.0.1", 9464)
KUBERNETES: Final = "kubernetes"
DEFAULT_PLAY: Final = 20.0
_OFF: Final = "off"
_TRUTHS: Final = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class Settings:
    """How the server runs. `cluster`: `kubernetes`, a file or directory of manifests, or `-` for standard input.

    `metrics_listen` None: no metrics endpoint. `as_of`: the instant that freshness is judged at (files only).
    `play`: seconds that a Run runs when the cluster of a file is brought to life, None when it is not.
    `log_format` None: text on a terminal, else JSON. `show`: print what is served at start. `kubeconfig` and `context`
    say how to reach a real cluster (empty: KUBECONFIG, else the Pod's own credentials, else ~/.kube/config); `events`:
    whether Kubernetes Events are written there. `traces`: where spans go; `otlp` needs the extra `otel`.
    """

    cluster: str = KUBERNETES
    listen: tuple[ListenAddress, ...] = (DEFAULT_LISTEN,)
    metrics_listen: TcpAddress | None = DEFAULT_METRICS_LISTEN
    driver: Literal["in-process", "off"] = "in-process"
    role: Literal["scheduler", "reader"] = "scheduler"
    as_of: datetime | Literal["now"] | None = None
    play: float | None = None
    config: Path | None = None
    log_format: Literal["json", "text"] | None = None
    reflection: bool = True
    show: bool = False
    kubeconfig: str = ""
    context: str = ""
    events: bool = True
    traces: Literal["otlp", "off"] = "off"


def resolve(flags: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[Settings, Config]:
    """Return the settings and the configuration file that they name.

    `flags`: values by name of the field, as click gives them; None or an empty tuple means not given. Variables are
    BERTH_ and the field's name; an empty one counts as absent. Raises ConfigError with every fault found.
    """
    faults: list[str] = []
    path = flags.get("config") or environ.get("BERTH_CONFIG")
    config = _load(Path(path), faults) if path else Config()
    values: dict[str, Any] = {"config": Path(path)} if path else {}
    for name, convert in _CONVERT.items():
        given = next(_sources(name, flags, environ, config, path), None)
        if given is None:
            continue
        origin, raw = given
        try:
            values[name] = convert(raw)
        except ValueError as error:
            faults.append(f"{origin}: {error}")
    faults.extend(_contradictions(values))
    if faults:
        raise ConfigError(faults)
    if values.get("role") == "reader":
        values["driver"] = _OFF
    return Settings(**values), config


def _load(path: Path, faults: list[str]) -> Config:
    try:
        return parse_config(path.read_text(encoding="utf-8"))
    except ConfigError as error:
        faults.extend(f"{path}: {fault}" for fault in error.faults)
    except UnicodeDecodeError:
        faults.append(f"{path}: is not UTF-8 text")
    except OSError as error:
        faults.append(f"{path}: {(error.strerror or str(error)).lower()}")
    return Config()


def _sources(
    name: str, flags: Mapping[str, Any], environ: Mapping[str, str], config: Config, path: object
) -> Iterator[tuple[str, Any]]:
    """Where the value of one field is given, strongest first."""
    if flags.get(name) not in (None, ()):
        yield f"--{name.replace('_', '-')}", flags[name]
    variable = f"BERTH_{name.upper()}"
    if environ.get(variable):
        yield variable, environ[variable]
    key = _FILE_KEY.get(name, "")
    if key in config.settings:
        yield f"{path}: {key}", config.settings[key]


def _contradictions(values: Mapping[str, Any]) -> Iterator[str]:
    if values.get("cluster", KUBERNETES) == KUBERNETES:
        for name, text in (("as_of", "--as-of"), ("play", "--play")):
            if values.get(name) is not None:
                yield f"{text}: is for a cluster from a file: name one with --cluster"
    else:
        for name in ("kubeconfig", "context"):
            if values.get(name) is not None:
                yield f"--{name}: is for a real cluster: leave out --cluster, or set it to {KUBERNETES}"
    if values.get("role") == "reader" and values.get("driver") == "in-process":
        yield "--driver: a reader does not drive: leave it out, or set it to off"


def _text(raw: Any) -> str:
    if not isinstance(raw, str) or not raw:
        raise ValueError("must be a string that is not empty")
    return raw


def _choice(*allowed: str) -> Callable[[Any], str]:
    def convert(raw: Any) -> str:
        if raw not in allowed:
            raise ValueError(f"must be {' or '.join(allowed)}, not {raw!r}")
        return cast("str", raw)

    return convert


def _truth(raw: Any) -> bool:
    if isinstance(raw, bool):
        return raw
    if not isinstance(raw, str) or raw.lower() not in _TRUTHS:
        raise ValueError(f"must be true or false, not {raw!r}")
    return _TRUTHS[raw.lower()]


def _switch(raw: Any) -> bool:
    """Like a truth; `on` and `off` are what people write, and what YAML makes of them is a boolean."""
    return raw == "on" if raw in {"on", _OFF} else _truth(raw)


def _listen(raw: Any) -> tuple[ListenAddress, ...]:
    texts = raw.split(",") if isinstance(raw, str) else list(raw) if isinstance(raw, (list, tuple)) else []
    if not texts:
        raise ValueError("must be an address or a list of them")
    return tuple(parse_listen_address(_text(text).strip()) for text in texts)


def _metrics_listen(raw: Any) -> TcpAddress | None:
    return None if raw == _OFF else parse_tcp_address(_text(raw))


def _as_of(raw: Any) -> datetime | Literal["now"]:
    if raw == "now":
        return "now"
    instant = parse_time(_text(raw))
    if instant is None:
        raise ValueError(f"must be now or an instant such as 2026-03-01T12:00:00Z, not {raw!r}")
    return instant


def _play(raw: Any) -> float | None:
    if isinstance(raw, bool) or (isinstance(raw, str) and raw.lower() in _TRUTHS):
        return DEFAULT_PLAY if _truth(raw) else None
    seconds = parse_duration(_text(raw))
    if seconds is None or seconds <= 0:
        raise ValueError(f"must be a duration above 0 such as 20s, not {raw!r}")
    return seconds


_CONVERT: Final[Mapping[str, Callable[[Any], Any]]] = {
    "cluster": _text,
    "listen": _listen,
    "metrics_listen": _metrics_listen,
    "driver": _choice("in-process", _OFF),
    "role": _choice("scheduler", "reader"),
    "as_of": _as_of,
    "play": _play,
    "log_format": _choice("json", "text"),
    "reflection": _truth,
    "show": _truth,
    "kubeconfig": _text,
    "context": _text,
    "events": _switch,
    "traces": _choice("otlp", _OFF),
}
assert {*_CONVERT, "config"} == {each.name for each in fields(Settings)}
_FILE_KEY: Final = {name: key for name in _CONVERT for key in FILE_SETTINGS if key.lower() == name.replace("_", "")}
