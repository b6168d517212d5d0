"""Where the credentials of a cluster come from, and what is said when there are none."""

from pathlib import Path

import pytest

from berth_server.kube.connection import CredentialsError, Source


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
