"""Where the credentials of a cluster come from, and what is said when there are none."""

from pathlib import Path

import pytest
import yaml

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


@pytest.mark.parametrize(
    ("cluster", "environment", "want"),
    [
        pytest.param({}, {}, None, id="none"),
        pytest.param({}, {"HTTPS_PROXY": "http://p:3128"}, "http://p:3128", id="variable"),
        pytest.param({}, {"https_proxy": "http://u:x@p:3128"}, "http://u:x@p:3128", id="variable with credentials"),
        pytest.param({}, {"HTTP_PROXY": "http://p:3128"}, None, id="of another scheme"),
        pytest.param({}, {"HTTPS_PROXY": "http://p:3128", "NO_PROXY": ".example"}, None, id="excepted"),
        pytest.param({"proxy-url": "http://q:1"}, {"HTTPS_PROXY": "http://p:3128"}, "http://q:1", id="kubeconfig wins"),
        pytest.param({"proxy-url": "http://q:1"}, {"NO_PROXY": "*"}, "http://q:1", id="kubeconfig excepts nothing"),
    ],
)
async def test_the_proxy(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    cluster: dict[str, str],
    environment: dict[str, str],
    want: str | None,
) -> None:
    """The kubeconfig's proxy, else what the environment names for the API server, as kubectl does it."""
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "https://api.example:6443", **cluster}}],
        "users": [{"name": "c", "user": {"token": "x"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    }
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(content))
    assert (await Source(str(path)).read()).proxy == want
