"""Flags over environment over file over defaults."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from berth_server.config.addresses import TcpAddress, UnixAddress
from berth_server.config.faults import ConfigError
from berth_server.config.settings import Settings, resolve

FILE = "cluster.yaml"


def test_defaults() -> None:
    """Nothing said: a scheduler of the Kubernetes cluster, on loopback."""
    settings, config = resolve({}, {})
    assert settings == Settings(
        cluster="kubernetes",
        listen=(TcpAddress("127.0.0.1", 50051),),
        metrics_listen=TcpAddress("127.0.0.1", 9464),
        driver="in-process",
        role="scheduler",
    )
    assert [profile.name for profile in config.profiles] == ["default"]


def test_a_flag_that_was_not_given_is_not_a_value() -> None:
    """Click hands over None, or an empty tuple for a repeatable flag; an empty variable counts as absent."""
    flags = {"cluster": None, "listen": (), "show": None, "config": None}
    assert resolve(flags, {"BERTH_CLUSTER": "", "BERTH_CONFIG": ""}) == resolve({}, {})


@pytest.mark.parametrize(
    ("flag", "variable", "in_file", "want"),
    [
        pytest.param(None, None, None, "scheduler", id="default"),
        pytest.param(None, None, "reader", "reader", id="file"),
        pytest.param(None, "scheduler", "reader", "scheduler", id="environment-over-file"),
        pytest.param("reader", "scheduler", "scheduler", "reader", id="flag-over-all"),
    ],
)
def test_the_strongest_source_wins(
    tmp_path: Path, flag: str | None, variable: str | None, in_file: str | None, want: str
) -> None:
    """Each source beats the ones behind it."""
    path = tmp_path / "berth.yaml"
    path.write_text(f"role: {in_file}" if in_file else "")
    environ = {"BERTH_CONFIG": str(path)} | ({"BERTH_ROLE": variable} if variable else {})
    settings, _ = resolve({"role": flag}, environ)
    assert settings.role == want
    assert settings.config == path


@pytest.mark.parametrize(
    ("flags", "environ", "want"),
    [
        pytest.param(
            {"listen": ("127.0.0.1:1", "unix:///b.sock")},
            {},
            {"listen": (TcpAddress("127.0.0.1", 1), UnixAddress(Path("/b.sock")))},
            id="listen-twice",
        ),
        pytest.param(
            {},
            {"BERTH_LISTEN": "127.0.0.1:1, unix:///b.sock"},
            {"listen": (TcpAddress("127.0.0.1", 1), UnixAddress(Path("/b.sock")))},
            id="listen-by-commas",
        ),
        pytest.param({"metrics_listen": "off"}, {}, {"metrics_listen": None}, id="no-metrics"),
        pytest.param({"reflection": False}, {"BERTH_REFLECTION": "true"}, {"reflection": False}, id="false-is-given"),
        pytest.param(
            {}, {"BERTH_REFLECTION": "False", "BERTH_SHOW": "1"}, {"reflection": False, "show": True}, id="bool"
        ),
        pytest.param({"driver": "off"}, {}, {"driver": "off"}, id="driver-off"),
        pytest.param({"role": "reader"}, {}, {"role": "reader", "driver": "off"}, id="a-reader-does-not-drive"),
        pytest.param({"log_format": "text"}, {}, {"log_format": "text"}, id="log-format"),
        pytest.param(
            {"kubeconfig": "k.yaml", "context": "prod"}, {}, {"kubeconfig": "k.yaml", "context": "prod"}, id="cluster"
        ),
        pytest.param({"events": "off"}, {"BERTH_EVENTS": "on"}, {"events": False}, id="events-off"),
        pytest.param({}, {"BERTH_EVENTS": "true"}, {}, id="events-as-yaml-reads-it"),
        pytest.param({"traces": "otlp"}, {}, {"traces": "otlp"}, id="traces"),
        pytest.param(
            {"cluster": FILE, "as_of": "2026-03-01T13:00:00+01:00"},
            {},
            {"cluster": FILE, "as_of": datetime(2026, 3, 1, 12, tzinfo=UTC)},
            id="as-of",
        ),
        pytest.param({"cluster": "-", "as_of": "now"}, {}, {"cluster": "-", "as_of": "now"}, id="as-of-now"),
        pytest.param({"cluster": FILE, "play": "1m30s"}, {}, {"cluster": FILE, "play": 90.0}, id="play-for"),
        pytest.param({"cluster": FILE}, {"BERTH_PLAY": "true"}, {"cluster": FILE, "play": 20.0}, id="play"),
        pytest.param({"cluster": FILE}, {"BERTH_PLAY": "false"}, {"cluster": FILE}, id="play-not"),
        pytest.param({}, {"BERTH_PORT": "tcp://10.0.0.1:80", "BERTH_SERVICE_HOST": "10.0.0.1"}, {}, id="service-links"),
    ],
)
def test_reads_values(flags: dict[str, Any], environ: dict[str, str], want: dict[str, Any]) -> None:
    """Each field has its own form; variables that Kubernetes sets for a Service named berth are not ours."""
    assert resolve(flags, environ)[0] == Settings(**want)


def test_reads_values_of_the_file(tmp_path: Path) -> None:
    """The file's own types are taken as they are."""
    path = tmp_path / "berth.yaml"
    path.write_text("cluster: c.yaml\nlisten: ['127.0.0.1:1']\nplay: true\nlogFormat: json\nmetricsListen: off\n")
    settings, _ = resolve({"config": str(path)}, {})
    assert settings == Settings(
        cluster="c.yaml",
        listen=(TcpAddress("127.0.0.1", 1),),
        play=20.0,
        log_format="json",
        metrics_listen=None,
        config=path,
    )


@pytest.mark.parametrize(
    ("flags", "environ", "want"),
    [
        pytest.param({"role": "boss"}, {}, "--role: must be scheduler or reader, not 'boss'", id="role"),
        pytest.param({}, {"BERTH_DRIVER": "on"}, "BERTH_DRIVER: must be in-process or off, not 'on'", id="driver"),
        pytest.param({"log_format": "xml"}, {}, "--log-format: must be json or text, not 'xml'", id="log-format"),
        pytest.param(
            {"metrics_listen": "unix:///m"},
            {},
            "--metrics-listen: must be host:port, such as 127.0.0.1:50051, not 'unix:///m'",
            id="metrics-on-a-socket",
        ),
        pytest.param(
            {"listen": ("127.0.0.1:1", "x")},
            {},
            "--listen: must be host:port, such as 127.0.0.1:50051, not 'x'",
            id="one-of-two",
        ),
        pytest.param(
            {"cluster": FILE, "context": "prod"},
            {},
            "--context: is for a real cluster: leave out --cluster, or set it to kubernetes",
            id="context-of-a-file",
        ),
        pytest.param({"traces": "on"}, {}, "--traces: must be otlp or off, not 'on'", id="traces"),
        pytest.param({}, {"BERTH_SHOW": "2"}, "BERTH_SHOW: must be true or false, not '2'", id="bool"),
        pytest.param(
            {"cluster": FILE, "as_of": "yesterday"},
            {},
            "--as-of: must be now or an instant such as 2026-03-01T12:00:00Z, not 'yesterday'",
            id="as-of",
        ),
        pytest.param(
            {"cluster": FILE, "play": "0s"}, {}, "--play: must be a duration above 0 such as 20s, not '0s'", id="play"
        ),
        pytest.param(
            {"cluster": FILE, "play": "20"}, {}, "--play: must be a duration above 0 such as 20s, not '20'", id="unit"
        ),
        pytest.param(
            {"as_of": "now"}, {}, "--as-of: is for a cluster from a file: name one with --cluster", id="as-of-live"
        ),
        pytest.param(
            {"play": "20s"}, {}, "--play: is for a cluster from a file: name one with --cluster", id="play-live"
        ),
        pytest.param(
            {"role": "reader", "driver": "in-process"},
            {},
            "--driver: a reader does not drive: leave it out, or set it to off",
            id="a-reader-that-drives",
        ),
        pytest.param({"config": "/no/such/file"}, {}, "/no/such/file: no such file or directory", id="no-file"),
        pytest.param({}, {"BERTH_CONFIG": "/"}, "/: is a directory", id="a-directory"),
    ],
)
def test_names_where_a_fault_is(flags: dict[str, Any], environ: dict[str, str], want: str) -> None:
    """A fault names the flag or the variable that must be changed."""
    with pytest.raises(ConfigError) as caught:
        resolve(flags, environ)
    assert caught.value.faults == (want,)


@pytest.mark.parametrize(
    ("content", "want"),
    [
        pytest.param(b"role: boss", "role: must be scheduler or reader, not 'boss'", id="setting"),
        pytest.param(b"listen: 5", "listen: must be an address or a list of them", id="type"),
        pytest.param(b"listen: []", "listen: must be an address or a list of them", id="no-address"),
        pytest.param(b"cluster: [a]", "cluster: must be a string that is not empty", id="list-for-text"),
        pytest.param(b"profiles: 5", "profiles: must be a list", id="profile"),
        pytest.param(b"\xff", "is not UTF-8 text", id="bytes"),
    ],
)
def test_names_the_file_and_the_path_in_it(tmp_path: Path, content: bytes, want: str) -> None:
    """What comes from the file is mended in the file."""
    path = tmp_path / "berth.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        resolve({"config": str(path)}, {})
    assert caught.value.faults == (f"{path}: {want}",)


def test_tells_faults_of_all_sources_at_once() -> None:
    """One start shows all that must be mended."""
    with pytest.raises(ConfigError) as caught:
        resolve({"role": "x", "config": "/no/such/file"}, {"BERTH_DRIVER": "y"})
    assert [fault.split(":")[0] for fault in caught.value.faults] == ["/no/such/file", "BERTH_DRIVER", "--role"]
