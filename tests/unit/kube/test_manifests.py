"""A cluster from files: what is added, what moment it shows, and how every fault reads."""

import io
import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from berth_server.kube.documents import ManifestError
from berth_server.kube.manifests import LoadedCluster, load_cluster

NOW = datetime(2030, 6, 1, tzinfo=UTC)
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NEW_YEAR + timedelta(hours=1)

RUN = "kind: Run\nmetadata: {name: a, namespace: team}\nspec: {runtime: python}\n"
Load = Callable[..., LoadedCluster]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Write `text` to c.yaml and load it from the folder that it is in."""
    monkeypatch.chdir(tmp_path)

    def write_and_load(text: str, name: str = "c.yaml", **options: Any) -> LoadedCluster:
        Path(name).write_text(text, encoding="utf-8")
        return load_cluster(name, now=NOW, **options)

    return write_and_load


def names(cluster: LoadedCluster) -> list[str]:
    """Names of the objects in order."""
    return [raw["metadata"]["name"] for raw in cluster.objects]


def pod(
    name: str, *, heartbeat: str | None, created: str = "2026-01-01T00:00:00Z", condition: str = ""
) -> dict[str, Any]:
    """Return a Runtime Pod with one condition."""
    kind = condition or "kruntimes.io/RuntimedReady"
    conditions = [{"type": kind, "status": "True", "lastProbeTime": heartbeat}]
    metadata = {"name": name, "namespace": "team", "creationTimestamp": created}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": {"conditions": conditions}}


# --- what is added -------------------------------------------------------------------------------------------------


def test_fills_in_what_apply_would(load: Load) -> None:
    """Namespace, uid and creation time are filled in where they are missing; all else is as it was written."""
    (raw,) = load(
        "kind: Run\nmetadata: {name: a, labels: null}\nspec: {runtime: python, later: [1]}\nextra: x\n"
    ).objects
    uid = uuid.uuid5(uuid.uuid5(uuid.NAMESPACE_DNS, "berth.dev"), "Run/default/a")
    assert raw == {
        "kind": "Run",
        "metadata": {
            "name": "a",
            "labels": None,
            "namespace": "default",
            "uid": str(uid),
            "creationTimestamp": "2030-06-01T00:00:00Z",
        },
        "spec": {"runtime": "python", "later": [1]},
        "extra": "x",
    }


def test_keeps_what_is_there(load: Load) -> None:
    """A dump's own identity wins."""
    metadata = {"name": "a", "namespace": "n", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    (raw,) = load(json.dumps({"kind": "Run", "metadata": metadata}), "c.json").objects
    assert raw["metadata"] == metadata


def test_a_node_has_no_namespace(load: Load) -> None:
    """Cluster-scoped kinds get none."""
    (raw,) = load("kind: Node\nmetadata: {name: a}\n").objects
    assert "namespace" not in raw["metadata"]


def test_unknown_kinds_are_kept(load: Load) -> None:
    """Whatever they hold: nobody here decodes them."""
    cluster = load("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {b: 1}}\ndata: {k: v}\n")
    assert cluster.objects[0]["data"] == {"k": "v"}


def test_a_run_of_another_group_is_not_ours(load: Load) -> None:
    """Tekton's Run is kept beside one of ours of the same name, and not decoded as one."""
    tekton = "apiVersion: tekton.dev/v1\nkind: Run\nmetadata: {name: a, namespace: team, labels: {b: 1}}\n"
    assert names(load(f"{RUN}---\n{tekton}")) == ["a", "a"]


def test_numbers_are_exact(load: Load) -> None:
    """Whole doubles are integers, as the API server takes them."""
    (raw,) = load("kind: Run\nmetadata: {name: a}\nspec: {resources: {requests: {gpu: 1e3, runs: 2.0}}}\n").objects
    assert json.dumps(raw["spec"]) == '{"resources": {"requests": {"gpu": 1000, "runs": 2}}}'


# --- where it comes from -------------------------------------------------------------------------------------------


def test_lists_are_taken_apart(load: Load) -> None:
    """The output of kubectl get, also one list after another, and the typed lists of the API, whose items are bare."""
    runs = {"kind": "List", "items": [{"kind": "Run", "metadata": {"name": "a"}}, {"kind": "List", "items": None}]}
    pods = {"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "b"}}]}
    cluster = load(f"{json.dumps(runs)}\n{json.dumps(pods)}", "c.json")
    assert [(raw["kind"], raw["metadata"]["name"]) for raw in cluster.objects] == [("Run", "a"), ("Pod", "b")]


def test_a_folder_in_order_of_path(tmp_path: Path) -> None:
    """Recursive and sorted; other files and what is hidden (the second copy in a mounted ConfigMap) are left out."""
    for path in ("b.yml", "a/2.json", "a/1.yaml", "a/notes.txt", "..data/b.yml", ".hidden.yaml"):
        target = tmp_path / path
        target.parent.mkdir(exist_ok=True)
        target.write_text(json.dumps({"kind": "Run", "metadata": {"name": path}}))
    (tmp_path / "empty.yaml").write_text("# nothing\n")
    assert names(load_cluster(str(tmp_path), now=NOW)) == ["a/1.yaml", "a/2.json", "b.yml"]


@pytest.mark.parametrize(
    "text", [pytest.param(RUN, id="yaml"), pytest.param('{"kind": "Run", "metadata": {"name": "a"}}', id="json")]
)
def test_stdin(text: str) -> None:
    """Told apart by its first character; a byte order mark is skipped."""
    assert names(load_cluster("-", now=NOW, stdin=io.BytesIO(b"\xef\xbb\xbf" + text.encode()))) == ["a"]


def test_a_json_file_with_a_byte_order_mark(load: Load) -> None:
    """Editors on Windows write one."""
    assert names(load('\ufeff{"kind": "Run", "metadata": {"name": "a"}}', "c.json")) == ["a"]


# --- as of ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pods", "as_of", "want", "want_origin"),
    [
        pytest.param(
            [pod("a", heartbeat="2026-01-01T00:00:00Z"), pod("b", heartbeat="2026-01-01T02:00:00+01:00")],
            "",
            LATER,
            "newest lastProbeTime, of Pod team/b",
            id="newest-heartbeat-as-an-instant",
        ),
        pytest.param(
            [pod("a", heartbeat="2026-01-01T00:00:00Z", created="2026-01-01T01:00:00Z")],
            "",
            NEW_YEAR,
            "newest lastProbeTime, of Pod team/a",
            id="a-heartbeat-beats-a-later-creation",
        ),
        pytest.param(
            [pod("a", heartbeat=None), pod("b", heartbeat="soon", created="2026-01-01T01:00:00Z")],
            "",
            LATER,
            "newest creationTimestamp, of Pod team/b",
            id="no-heartbeat-that-can-be-read",
        ),
        pytest.param(
            [pod("a", heartbeat="2026-01-01T01:00:00Z", condition="Ready")],
            "",
            NEW_YEAR,
            "newest creationTimestamp, of Pod team/a",
            id="a-probe-of-another-condition",
        ),
        pytest.param(
            [{"kind": "Run", "metadata": {"name": "a", "deletionTimestamp": "2031-01-01T00:00:00Z"}}],
            "",
            NOW,
            "now, the input has no stamp",
            id="a-deletion-never-counts",
        ),
        pytest.param(
            [pod("a", heartbeat="2026-01-01T00:00:00Z")], "2026-01-01T01:00:00Z", LATER, "--as-of", id="given"
        ),
    ],
)
def test_the_moment_it_shows(load: Load, pods: list[Any], as_of: str, want: datetime, want_origin: str) -> None:
    """The newest heartbeat, else the newest creation, else now; what is given wins; and it stands still."""
    cluster = load(json.dumps({"kind": "List", "items": pods}), "c.json", as_of=as_of)
    assert (cluster.as_of, cluster.as_of_origin, cluster.live) == (want, want_origin, False)


def test_as_of_now_is_live(load: Load) -> None:
    """Time goes on from the wall clock."""
    cluster = load(json.dumps(pod("a", heartbeat="2026-01-01T00:00:00Z")), "c.json", as_of="now")
    assert (cluster.as_of, cluster.as_of_origin, cluster.live) == (NOW, "--as-of now", True)


def test_a_missing_creation_is_the_moment_it_shows(load: Load) -> None:
    """An object without a stamp is no older than the cluster, whatever time it is here."""
    cluster = load(f"{RUN}---\n{json.dumps(pod('p', heartbeat='2026-01-01T01:00:00Z'))}")
    assert cluster.objects[0]["metadata"]["creationTimestamp"] == "2026-01-01T01:00:00Z"


# --- faults --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("", "c.yaml: there is no Kubernetes object in it", id="empty"),
        pytest.param("# nothing\n---\n", "c.yaml: there is no Kubernetes object in it", id="comments-only"),
        pytest.param("kind: List\nitems: []\n", "c.yaml: there is no Kubernetes object in it", id="empty-list"),
        pytest.param("a: [1\n", "c.yaml: line 2: broken YAML: did not find expected ',' or ']'", id="broken"),
        pytest.param(f"{RUN}spec: {{}}\n", "c.yaml: line 4: broken YAML: duplicate key 'spec'", id="duplicate-key"),
        pytest.param("- a\n", "c.yaml: document 1: a list is no Kubernetes object", id="list"),
        pytest.param(f"{RUN}---\nhello\n", "c.yaml: document 2: a string is no Kubernetes object", id="string"),
        pytest.param("metadata: {name: a}\n", "c.yaml: document 1: kind is missing", id="no-kind"),
        pytest.param("kind: ''\n", "c.yaml: document 1: kind is missing", id="empty-kind"),
        pytest.param("kind: 7\n", "c.yaml: document 1: kind must be a string, not a number", id="kind-number"),
        pytest.param("kind: Run\n", "c.yaml: document 1: Run: metadata.name is missing", id="no-metadata"),
        pytest.param(
            "kind: Run\nmetadata: []\n", "c.yaml: document 1: Run: metadata.name is missing", id="metadata-list"
        ),
        pytest.param(
            "kind: Run\nmetadata: {uid: a}\n", "c.yaml: document 1: Run: metadata.name is missing", id="no-name"
        ),
        pytest.param(
            "kind: Run\nmetadata: {name: 2026}\n",
            "c.yaml: document 1: Run: metadata.name must be a string, not a number",
            id="name-number",
        ),
        pytest.param(
            "kind: Run\nmetadata: {name: a, namespace: [b]}\n",
            "c.yaml: document 1: Run a: metadata.namespace must be a string, not a list",
            id="namespace-list",
        ),
        pytest.param(
            "kind: Run\napiVersion: {}\nmetadata: {name: a}\n",
            "c.yaml: document 1: Run a: apiVersion must be a string, not a mapping",
            id="version-mapping",
        ),
        pytest.param(
            "kind: Node\nmetadata: {name: a, namespace: b}\n",
            "c.yaml: document 1: Node a: metadata.namespace must be empty, a Node belongs to the cluster",
            id="node-in-a-namespace",
        ),
        pytest.param(
            "kind: Run\nmetadata: {name: a, uid: true}\n",
            "c.yaml: document 1: Run default/a: metadata.uid must be a string, not a boolean",
            id="uid-boolean",
        ),
        pytest.param(
            "kind: Run\nmetadata: {name: a, creationTimestamp: yesterday}\n",
            "c.yaml: document 1: Run default/a: metadata.creationTimestamp 'yesterday' is not an RFC 3339 time",
            id="creation",
        ),
        pytest.param(
            "kind: Run\nmetadata: {name: a, labels: {version: 1}}\n",
            "c.yaml: document 1: Run default/a: Expected `str`, got `int` - at `$.metadata.labels[...]`",
            id="undecodable",
        ),
        pytest.param(
            "kind: Run\nmetadata: {name: a, resourceVersion: x}\n",
            "c.yaml: document 1: Run default/a: metadata.resourceVersion 'x' is not a number",
            id="resource-version",
        ),
        pytest.param(
            "kind: Run\nmetadata: {name: a}\nspec: {resources: {requests: {memory: 1.0e+20}}}\n",
            "c.yaml: document 1: Run default/a: spec.resources.requests.memory: 1e+20 may have lost digits "
            "as a number, write it as a string",
            id="lost-digits",
        ),
        pytest.param(
            "kind: Secret\nmetadata: {name: a}\ndata: {on: x}\n",
            "c.yaml: document 1: Secret default/a: data: the key True is not a string, write it in quotes",
            id="key-boolean",
        ),
        pytest.param(
            "kind: RunList\nitems: {}\n",
            "c.yaml: document 1: RunList: items must be a list, not a mapping",
            id="items-empty",
        ),
        pytest.param(
            "kind: List\nitems: {a: b}\n",
            "c.yaml: document 1: List: items must be a list, not a mapping",
            id="items-mapping",
        ),
        pytest.param(
            "kind: List\nitems: [{kind: Run, metadata: {name: a}}, {kind: Run}]\n",
            "c.yaml: document 1, items[1]: Run: metadata.name is missing",
            id="item",
        ),
        pytest.param(
            f"{RUN}---\n{RUN}",
            "c.yaml: document 2: Run team/a: the same object is in c.yaml: document 1",
            id="same-object",
        ),
        pytest.param(
            "kind: Run\nmetadata: {name: a, uid: u}\n---\nkind: Pod\nmetadata: {name: b, uid: u}\n",
            "c.yaml: document 2: Pod default/b: metadata.uid u is also that of Run default/a in c.yaml: document 1",
            id="same-uid",
        ),
        pytest.param(
            "kind: ConfigMap\nmetadata: {name: a}\ndata: &d {x: *d}\n",
            "c.yaml: document 1: is nested too deeply, or contains itself",
            id="contains-itself",
        ),
    ],
)
def test_a_fault_is_one_sentence(load: Load, text: str, want: str) -> None:
    """It names the file, the object and the field."""
    with pytest.raises(ManifestError) as caught:
        load(text)
    assert str(caught.value) == want


def test_a_name_and_a_place_are_told_across_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same object in two files names both."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.yaml", "b.yaml"):
        Path(name).write_text(RUN)
    with pytest.raises(ManifestError) as caught:
        load_cluster(".")
    assert str(caught.value) == "b.yaml: document 1: Run team/a: the same object is in a.yaml: document 1"


def test_one_name_in_two_namespaces_or_kinds(load: Load) -> None:
    """Only kind, namespace and name together are the object."""
    assert len(load(f"{RUN}---\n{RUN.replace('team', 'other')}---\n{RUN.replace('Run', 'Pod')}").objects) == 3


@pytest.mark.parametrize(
    ("name", "text", "want"),
    [
        pytest.param(
            "c.json", "{", "c.json: line 1: broken JSON: Expecting property name enclosed in double quotes", id="json"
        ),
        pytest.param("c.json", "kind: Run", "c.json: line 1: broken JSON: Expecting value", id="yaml-in-json"),
        pytest.param("c.json", '{"a": 1,\n"a": 2}', "c.json: line 2: broken YAML: duplicate key 'a'", id="duplicate"),
    ],
)
def test_faults_of_json(load: Load, name: str, text: str, want: str) -> None:
    """The line of the fault."""
    with pytest.raises(ManifestError) as caught:
        load(text, name)
    assert str(caught.value) == want


def test_faults_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing, not text, an empty folder, empty stdin: one sentence each."""
    monkeypatch.chdir(tmp_path)
    Path("binary.yaml").write_bytes(b"a: \xff\n")
    Path("folder").mkdir()
    wants = {
        "none.yaml": "none.yaml: No such file or directory",
        "binary.yaml": "binary.yaml: byte 3 is not UTF-8",
        "folder": "folder: no *.yaml, *.yml or *.json file in this folder",
        "-": "stdin: there is no Kubernetes object in it",
    }
    for source, want in wants.items():
        with pytest.raises(ManifestError) as caught:
            load_cluster(source, stdin=io.BytesIO(b""))
        assert str(caught.value) == want


def test_an_unreadable_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that can't be listed is a fault, not an empty one."""
    folder = tmp_path / "folder"
    folder.mkdir()

    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    # Permissions do not bind the root user, whom tests may run as.
    monkeypatch.setattr("os.scandir", refuse)
    with pytest.raises(ManifestError) as caught:
        load_cluster(str(folder))
    assert str(caught.value) == f"{folder}: Permission denied"


def test_a_bad_as_of(load: Load) -> None:
    """Told before anything is read."""
    with pytest.raises(ManifestError) as caught:
        load(RUN, as_of="today")
    assert str(caught.value) == "--as-of: 'today' is neither 'now' nor an RFC 3339 time such as 2026-01-01T00:00:00Z"
