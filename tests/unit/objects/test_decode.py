"""Decoding: what structs get out of JSON, and how the error reads when they can't."""

import gc
import sys

import msgspec
import pytest

from berth_server.objects.decode import DecodeError, decode, version_of
from berth_server.objects.resources import Identity, Node, PersistentWorkspace, Pod, Run, type_of_kind

RUN = b"""{"apiVersion": "kruntimes.io/v1alpha1", "kind": "Run", "future": [1],
  "metadata": {"name": "etl-1", "namespace": "data", "uid": "u1", "resourceVersion": "42", "labels": {"app": "etl"}},
  "spec": {"runtime": "python", "resources": {"requests": {"gpu": "1"}}},
  "status": {"phase": "Scheduled", "assignedPodUID": "p1", "conditions": [ {"type": "X", "foreign": 1} ]}}"""


def test_decodes_a_run() -> None:
    """Known fields arrive, unknown ones are skipped, the version is a number."""
    run = decode("Run", RUN)
    assert isinstance(run, Run)
    assert (run.metadata.name, run.metadata.labels, version_of(run)) == ("etl-1", {"app": "etl"}, 42)
    assert run.spec is not None
    assert run.spec.resources == {"requests": {"gpu": "1"}}
    assert run.status is not None
    assert (run.status.phase, run.status.assigned_pod_uid) == ("Scheduled", "p1")


def test_conditions_are_kept_byte_for_byte() -> None:
    """Foreign fields of foreign conditions must survive a rewrite of the list."""
    run = decode("Run", RUN)
    assert isinstance(run, Run)
    assert run.status is not None
    assert bytes(run.status.conditions) == b'[ {"type": "X", "foreign": 1} ]'


def test_does_not_keep_its_input_alive() -> None:
    """A Raw that views its input would pin the whole list that one Run came in."""
    data = RUN + b" " * 1000
    before = sys.getrefcount(data)
    run = decode("Run", data)
    gc.collect()
    assert sys.getrefcount(data) == before
    assert run.metadata.name == "etl-1"


@pytest.mark.parametrize("kind", list(type_of_kind))
def test_nulls_are_absent(kind: str) -> None:
    """The API server writes null for an empty map or list."""
    empty = decode(
        kind, b'{"metadata": {"name": "a", "labels": null, "annotations": null}, "spec": null, "status": null}'
    )
    assert isinstance(empty, Run | Pod | PersistentWorkspace | Node)
    assert empty.metadata.labels is None
    assert version_of(empty) == 0


@pytest.mark.parametrize(
    ("kind", "data", "want"),
    [
        pytest.param("Run", b"", "Run: Input data was truncated", id="empty"),
        pytest.param("Run", b'{"metadata": {"name": "a"', "Run: Input data was truncated", id="truncated"),
        pytest.param("Run", b"[]", "Run: Expected `object`, got `array`", id="a-list"),
        pytest.param("Pod", b"{}", "Pod: Object missing required field `metadata`", id="no-metadata"),
        pytest.param(
            "Pod",
            b'{"metadata": {"name": "p", "namespace": "n", "labels": {"a": 1}}}',
            "Pod n/p: Expected `str`, got `int` - at `$.metadata.labels[...]`",
            id="label-not-a-string",
        ),
        pytest.param(
            "Node", b'{"metadata": {"name": 7}}', "Node: Expected `str`, got `int` - at `$.metadata.name`", id="name"
        ),
        pytest.param(
            "Run",
            b'{"metadata": {"name": "a", "resourceVersion": "-1"}}',
            "Run a: metadata.resourceVersion '-1' is not a number",
            id="version",
        ),
    ],
)
def test_one_clear_error(kind: str, data: bytes, want: str) -> None:
    """The object, the fault and its path, as far as they can be made out."""
    with pytest.raises(DecodeError) as caught:
        decode(kind, data)
    assert str(caught.value) == want


WHOLE = b'"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7"'


@pytest.mark.parametrize(
    ("data", "want"),
    [
        pytest.param(b'{"metadata": {%s}, "status": 7}' % WHOLE, Identity("a", "n", "u", "7"), id="odd status"),
        pytest.param(b'{"metadata": {%s, "labels": [1]}}' % WHOLE, Identity("a", "n", "u", "7"), id="odd labels"),
        pytest.param(
            b'{"status": 7, "metadata": {"uid": "u", "name": "a", "resourceVersion": "7"}}',
            Identity("a", "", "u", "7"),
            id="no namespace",
        ),
        pytest.param(b'{"metadata": {"name": "a", "resourceVersion": "7"}, "status": 7}', None, id="no uid"),
        pytest.param(b'{"metadata": {"name": "a", "uid": "u"}, "status": 7}', None, id="no version"),
        pytest.param(b'{"metadata": {"uid": "u", "resourceVersion": "7"}}', None, id="no name"),
        pytest.param(b'{"metadata": {"name": "", "uid": "u", "resourceVersion": "7"}, "spec": 1}', None, id="empty"),
        pytest.param(b'{"metadata": {"name": "a", "uid": "u", "resourceVersion": "x"}}', None, id="odd version"),
        pytest.param(b'{"metadata": {"name": "a", "uid": 7, "resourceVersion": "7"}}', None, id="odd uid"),
        pytest.param(b'{"metadata": null}', None, id="no metadata"),
        pytest.param(b'{"metadata": {%s}, "status"' % WHOLE, None, id="truncated"),
        pytest.param(b"7", None, id="no object"),
    ],
)
def test_an_error_says_which_object_it_is_about(data: bytes, want: Identity | None) -> None:
    """The whole identity, read from nothing but what it is made of; or none."""
    with pytest.raises(DecodeError) as caught:
        decode("Run", data)
    assert caught.value.undecodable.metadata == want
    assert caught.value.undecodable.fault == str(caught.value)


def test_deep_nesting_is_an_error_like_any_other() -> None:
    """An untyped spec may nest deeper than the decoder goes: it is said which object that is, and nothing ends."""
    depth = 100_000
    data = b'{"metadata":{%s},"spec":{"affinity":' % WHOLE + b"[" * depth + b"]" * depth + b"}}"
    with pytest.raises(DecodeError, match=r"^Run n/a: it is nested too deeply to be read$") as caught:
        decode("Run", data)
    assert caught.value.undecodable.metadata == Identity(namespace="n", name="a", uid="u", resource_version="7")


def test_an_unknown_kind_is_a_bug() -> None:
    """Callers ask for kinds that have a struct."""
    with pytest.raises(KeyError):
        decode("ConfigMap", msgspec.Raw(b"{}"))
