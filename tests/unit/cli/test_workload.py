"""`berth workload lint`: lines, exit codes, and what is only a note."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from berth.cli import main
from tests.unit.workload.builders import leaf, node, pod_group, tree, workload

V1BETA1 = "scheduling.k8s.io/v1beta1"


def _lint(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(main, ["workload", "lint", *arguments], input=text)


def _manifest(*bodies: Any) -> str:
    return "\n---\n".join(json.dumps({"apiVersion": V1BETA1, **body} if "kind" in body else body) for body in bodies)


def test_good_manifests_are_silent() -> None:
    """Exit code 0 and no output."""
    result = _lint("-f", "-", text=_manifest(workload(), pod_group()))
    assert (result.exit_code, result.output) == (0, "")


def test_one_line_an_error_with_file_object_and_field(tmp_path: Path) -> None:
    """All errors of all objects, each on its line, and exit code 1."""
    file = tmp_path / "groups.yaml"
    file.write_text(_manifest(pod_group(schedulingPolicy={}, disruptionMode={}), workload(leaf("Bad"))))
    result = _lint("-f", str(file))
    assert result.exit_code == 1
    assert [line.split(": ")[:3] for line in result.stdout.splitlines()] == [
        [str(file), "PodGroup/workers-0", "spec.schedulingPolicy"],
        [str(file), "PodGroup/workers-0", "spec.disruptionMode"],
        [str(file), "Workload/training", "spec.podGroupTemplates[0].name"],
    ]


def test_folders_are_read_with_all_below(tmp_path: Path) -> None:
    """YAML and JSON, in the order of their names; other files are passed over."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "b.json").write_text(_manifest(workload(leaf("B"))))
    (tmp_path / "a.yml").write_text(_manifest(workload(leaf("A"))))
    (tmp_path / "notes.txt").write_text("{")
    result = _lint("-f", str(tmp_path))
    assert [Path(line.split(": ")[0]).name for line in result.stdout.splitlines()] == ["a.yml", "b.json"]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("{", "not YAML", id="not-yaml"),
        pytest.param("- a", "not an object", id="not-an-object"),
        pytest.param(_manifest({"kind": "Workload", "spec": "x"}), "BadRequest: cannot decode: spec", id="wrong-type"),
        pytest.param(
            _manifest(workload(leaf(minCount=1))), "podGroupTemplates[0].minCount: unknown field", id="unknown"
        ),
        pytest.param(_manifest(pod_group(preemptionPolicy="Never")), "Forbidden: ", id="admission"),
        pytest.param(
            _manifest({**workload(), "apiVersion": "scheduling.k8s.io/v1"}), "NotFound: ", id="no-such-version"
        ),
        pytest.param(
            _manifest({"kind": "List", "items": [{**workload(leaf("B")), "apiVersion": V1BETA1}]}), ".name: ", id="list"
        ),
    ],
)
def test_errors_without_causes(text: str, want: str) -> None:
    """What ends before validation is one line too."""
    result = _lint("-f", "-", text=text)
    assert result.exit_code == 1
    assert want in result.stdout
    assert len(result.stdout.splitlines()) == 1


def test_rule_sets_and_single_rules() -> None:
    """The documented rules are on; a server's, or one rule less, can be had."""
    both = _manifest(tree(node("a", leaf(), disruptionMode={"all": {}})))
    assert len(_lint("-f", "-", text=both).stdout.splitlines()) == 2
    assert len(_lint("-f", "-", "--skip", "all_needs_gang", text=both).stdout.splitlines()) == 1
    assert _lint("-f", "-", "--rules", "server", text=both).exit_code == 0


def test_classes_of_the_files_are_used_and_others_assumed() -> None:
    """A known class decides; of an unknown one nothing can be said but that it is unknown."""
    never = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "never"}}
    group = pod_group(priorityClassName="never")
    assumed = _lint("-f", "-", text=_manifest(group))
    assert (assumed.exit_code, "PriorityClass never is not in the files" in assumed.stderr) == (0, True)
    known = _lint("-f", "-", text=_manifest({**never, "preemptionPolicy": "Never"}, group))
    assert (known.exit_code, "preemptionPolicy must match Never" in known.stdout) == (1, True)


def test_v1alpha2_is_translated_or_refused() -> None:
    """No server of today serves it; the documented rules judge what it says nevertheless."""
    text = json.dumps({**workload(leaf(disruptionMode="PodGroup")), "apiVersion": "scheduling.k8s.io/v1alpha2"})
    result = _lint("-f", "-", text=text)
    assert (result.exit_code, "judged as v1beta1" in result.stderr) == (0, True)
    assert "NotFound" in _lint("-f", "-", "--rules", "server", text=text).stdout


def test_other_kinds_are_passed_over() -> None:
    """A folder of manifests holds more than groups; times in YAML are no obstacle."""
    group = f"apiVersion: {V1BETA1}\nkind: PodGroup\nspec: {{schedulingPolicy: {{basic: {{}}}}}}\n"
    time = "metadata: {name: a, creationTimestamp: 2026-09-01T00:00:00Z}\n"
    text = f"apiVersion: apps/v1\nkind: Deployment\nspec: 1\n---\n---\n{group}{time}"
    assert _lint("-f", "-", text=text).exit_code == 0


def test_a_missing_file_is_a_mistake_of_the_caller() -> None:
    """Exit code 2, as for any wrong option."""
    assert _lint("-f", "no-such-file.yaml").exit_code == 2
    assert _lint().exit_code == 2
