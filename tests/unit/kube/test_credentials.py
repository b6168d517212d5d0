"""Where the credentials of a cluster come from, and what is said when there are none."""

import json
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, Self

import pytest
import yaml

from berth_server.kube import credentials
from berth_server.kube.connection import Connection
from berth_server.kube.credentials import CredentialsError, Source


@pytest.mark.parametrize(
    ("variable", "source", "want_named"),
    [
        pytest.param("", Source(kubeconfig="/nowhere/config"), "/nowhere/config", id="flag"),
        pytest.param("/nowhere/a:/nowhere/b", Source(), "/nowhere/a:/nowhere/b", id="variable"),
    ],
)
def test_a_file_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, source: Source, want_named: str
) -> None:
    """One sentence names the file and what else can be done."""
    monkeypatch.setenv("KUBECONFIG", variable)
    with pytest.raises(
        CredentialsError, match=f"^there is no kubeconfig file {want_named}: name one with --kubeconfig"
    ):
        source.check_files()


def test_one_of_several_files_is_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """KUBECONFIG may name files that are not there, as kubectl allows."""
    there = tmp_path / "config"
    there.touch()
    monkeypatch.setenv("KUBECONFIG", f"/nowhere/a:{there}")
    Source().check_files()


def kubeconfig(folder: Path, cluster: dict[str, str], user: dict[str, Any]) -> str:
    """Write a kubeconfig with one context."""
    content = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "https://api.example:6443", **cluster}}],
        "users": [{"name": "c", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(content))
    return str(path)


def plugin(*, output: str = "", code: int = 0) -> dict[str, Any]:
    """Return a user whose plugin prints this."""
    version = "client.authentication.k8s.io/v1"
    script = f"echo '{output}'; echo 'log in first' >&2; exit {code}"
    return {"exec": {"apiVersion": version, "command": "sh", "args": ["-c", script], "interactiveMode": "Never"}}


def credential(**status: str) -> str:
    """Return what a plugin prints."""
    return json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status})


TOKEN = {"token": "t"}
PROXY = "http://u:secret@p:3128"
NEITHER = "exec: sh gave neither a token nor a client certificate with its key"


@pytest.mark.parametrize(
    ("cluster", "user", "want"),
    [
        pytest.param({"certificate-authority": "a"}, {}, "File does not exists", id="no authority"),
        pytest.param({"certificate-authority-data": "abc"}, {}, "padding", id="no base64"),
        pytest.param({"certificate-authority-data": "Z2FyYmFnZQ=="}, {}, "authority is no certificate", id="no PEM"),
        pytest.param({}, {"client-certificate": "a"}, "File does not exists", id="no certificate"),
        pytest.param({}, {"client-certificate-data": "Z2FyYmFnZQ=="}, "certificate and its key", id="no PEM of a user"),
        pytest.param({}, {"tokenFile": "a"}, "No such file", id="no token"),
        pytest.param({"proxy-url": PROXY.replace("http", "socks5")}, {}, "socks5://p is not", id="SOCKS"),
        pytest.param({}, plugin(code=1), "exec: sh ended with 1: log in first", id="a plugin that fails"),
        pytest.param({}, plugin(output="?"), "exec: sh did not print JSON", id="a plugin that prints something else"),
        pytest.param({}, plugin(output="[]"), "did not print a credential of client", id="a plugin that prints a list"),
        pytest.param({}, plugin(output="{}"), "did not print a credential of client", id="a plugin without a version"),
        pytest.param({}, {"exec": {"apiVersion": "v1", "command": "/none"}}, "No such file", id="no plugin"),
        pytest.param({}, plugin(output=credential()), NEITHER, id="a plugin that gives nothing"),
        pytest.param({}, plugin(output=credential(clientKeyData="k")), NEITHER, id="a plugin that gives half"),
    ],
)
async def test_no_credentials(tmp_path: Path, cluster: dict[str, str], user: dict[str, Any], want: str) -> None:
    """One sentence for the operator, which names the file, before anything is served."""
    path = kubeconfig(tmp_path, cluster, user)
    with pytest.raises(CredentialsError, match=want) as raised:
        await Connection(Source(path), "berth-tests").__aenter__()
    assert path in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("cluster", "user", "want_seconds"),
    [
        pytest.param({}, {"token": "t"}, None, id="token"),
        pytest.param({}, {"tokenFile": "token"}, 60, id="token in a file"),
        pytest.param({}, {"client-certificate": "token", "client-key": "token"}, 60, id="certificate in files"),
        pytest.param({"certificate-authority": "token"}, {"token": "t"}, 60, id="authority in a file"),
        pytest.param({}, plugin(output=credential(**TOKEN)), None, id="plugin"),
        pytest.param({"certificate-authority": "token"}, plugin(output=credential(**TOKEN)), None, id="plugin, files"),
        pytest.param(
            {},
            plugin(output=credential(**TOKEN, expirationTimestamp="2026-01-01T00:00:00Z")),
            -60,
            id="token expires",
        ),
        pytest.param(
            {},
            plugin(
                output=credential(
                    clientCertificateData="c", clientKeyData="k", expirationTimestamp="2026-01-01T01:00:00+01:00"
                )
            ),
            -60,
            id="certificate expires",
        ),
    ],
)
async def test_how_long_credentials_are_good(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cluster: dict[str, str],
    user: dict[str, Any],
    want_seconds: int | None,
) -> None:
    """Files are read again after a minute, a plugin is asked again a minute before it wants to be."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return cls(2026, 1, 1, tzinfo=tz)

    monkeypatch.setattr(credentials, "datetime", Clock)
    (tmp_path / "token").write_text("from a file\n")
    aged_at = (await Source(kubeconfig(tmp_path, cluster, user)).read()).aged_at
    assert (None if aged_at is None else (aged_at - Clock.now(UTC)).total_seconds()) == want_seconds


async def test_what_is_secret(tmp_path: Path) -> None:
    """Neither tokens nor keys nor the passwords of proxies get into a message by accident."""
    (tmp_path / "certificate").write_text("public")
    (tmp_path / "key").write_text("secret")
    user = {"token": "secret", "client-certificate": "certificate", "client-key": "key"}
    read = await Source(kubeconfig(tmp_path, {"proxy-url": PROXY}, user)).read()
    assert (read.authorization, read.proxy, read.tls.key) == ("Bearer secret", PROXY, b"secret")
    assert "secret" not in repr(read)
