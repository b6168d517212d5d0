"""Translation: what of a Run, a Pod and a PersistentWorkspace counts, and what its absence means."""

from typing import Any

import pytest

from berth_server.objects.clock import SECOND
from berth_server.objects.item import Item, Stage
from berth_server.objects.quantity import MAX_UNITS
from berth_server.objects.resources import PersistentWorkspace, Pod, Run
from berth_server.placement.translate import NEVER, candidate_of, instant, item_of, micros, workspace_of
from berth_server.state.candidate import Candidate, PoolKey
from berth_server.state.view import Workspace
from tests.builders import MONOTONIC, NOW, Json, ago, decoded, pod, run, workspace

ENDED = "Running"


def item_from(thing: Json, *, monotonic: float = MONOTONIC, before: Item | None = None) -> Item:
    """Translate a Run."""
    resource = decoded(thing)
    assert isinstance(resource, Run)
    return item_of(resource, version=7, monotonic=monotonic, before=before)


def candidate_from(thing: Json) -> Candidate | None:
    """Translate a Pod."""
    resource = decoded(thing)
    assert isinstance(resource, Pod)
    return candidate_of(resource, version=7)


def workspace_from(thing: Json) -> Workspace:
    """Translate a PersistentWorkspace."""
    resource = decoded(thing)
    assert isinstance(resource, PersistentWorkspace)
    return workspace_of(resource, version=7)


# --- instants ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("2026-01-01T00:00:00Z", NOW, id="whole seconds"),
        pytest.param("2026-01-01T00:00:00.000001Z", NOW + 1, id="a microsecond"),
        pytest.param("2026-01-01T01:00:00+01:00", NOW, id="with an offset"),
        pytest.param("1969-12-31T23:59:59Z", -SECOND, id="before the epoch"),
        pytest.param("yesterday", None, id="unparsable"),
        pytest.param("", None, id="empty"),
        pytest.param(None, None, id="absent"),
    ],
)
def test_micros(text: str | None, want: int | None) -> None:
    """Exact microseconds, and back."""
    assert micros(text) == want
    if want is not None:
        assert micros(instant(want).isoformat().replace("+00:00", "Z")) == want


# --- Runs ----------------------------------------------------------------------------------------------------------


def test_a_run() -> None:
    """Every field that counts finds its place."""
    on = pod("p9", uid="pod-uid")
    thing = run(
        "r",
        namespace="team",
        uid="u",
        labels={"app": "web"},
        annotations={"berth.dev/pod-group-name": "g"},
        on=on,
        phase="Ready",
        status={"attempt": 3, "message": "hello", "conditions": [{"type": "Foreign", "theirs": [1]}]},
        requests={"gpu": "1k"},
    )
    found = item_from(thing)
    assert (found.uid, found.namespace, found.name, found.version) == ("u", "team", "r", 7)
    assert (found.labels, found.link, found.message) == ({"app": "web"}, "g", "hello")
    assert (found.phase, found.stage, found.attempt) == ("Ready", Stage.ACTIVE, 3)
    assert (found.assigned_name, found.assigned_uid, found.arrival) == ("p9", "pod-uid", NOW - 60 * SECOND)
    assert found.spec.requests == (("gpu", 1000), ("runs", 1))
    assert found.conditions == b'[{"type": "Foreign", "theirs": [1]}]'
    assert not found.terminating


@pytest.mark.parametrize(
    ("change", "want"),
    [
        pytest.param({"status": None}, {"phase": "", "attempt": 1, "conditions": b""}, id="no status yet"),
        pytest.param(
            {"status": dict.fromkeys(("phase", "assignedPod", "assignedPodUID", "attempt", "message"))},
            {"phase": "", "attempt": 1, "assigned_name": "", "assigned_uid": "", "message": ""},
            id="null fields",
        ),
        pytest.param({"status": {"attempt": 0}}, {"attempt": 0}, id="attempt 0 is what it says"),
        pytest.param({"status": {"conditions": None}}, {"conditions": b"null"}, id="null conditions"),
        pytest.param({"spec": None}, {"phase": "Pending"}, id="no spec"),
        pytest.param(
            {"metadata": {"name": "a", "labels": None, "annotations": None}},
            {"labels": {}, "link": None},
            id="null maps",
        ),
        pytest.param({"metadata": {"name": "a", "creationTimestamp": "x"}}, {"arrival": 0}, id="unparsable creation"),
        pytest.param({"metadata": {"name": "a", "deletionTimestamp": ago(1)}}, {"terminating": True}, id="terminating"),
        pytest.param(
            {"metadata": {"name": "a", "annotations": {"berth.dev/pod-group-name": ""}}},
            {"link": ""},
            id="an empty link",
        ),
    ],
)
def test_a_run_that_lacks_something(change: Json, want: dict[str, Any]) -> None:
    """Absent and null are alike, and mean the default."""
    found = item_from(run() | change)
    assert {field: getattr(found, field) for field in want} == want


def waiting(*conditions: Json, attempt: int = 2, phase: str = "Pending") -> Json:
    """Build a Run that was tried before."""
    return run(phase=phase, status={"attempt": attempt, "conditions": list(conditions)})


def ended(at: str | None = ago(3), status: str = "False") -> Json:
    """Build its condition Running."""
    return {"type": ENDED, "status": status, "lastTransitionTime": at}


@pytest.mark.parametrize(
    ("thing", "want"),
    [
        pytest.param(waiting(ended()), NOW - 3 * SECOND, id="ended 3 s ago"),
        pytest.param(waiting(ended(None)), NEVER, id="ended at no known time"),
        pytest.param(waiting(ended("soon")), NEVER, id="ended at an unparsable time"),
        pytest.param(waiting({"type": "Other", "status": "False"}, ended()), NOW - 3 * SECOND, id="among others"),
        pytest.param(waiting(ended(status="True")), None, id="running"),
        pytest.param(waiting(ended(status="Unknown")), None, id="unknown"),
        pytest.param(waiting(), None, id="no such condition"),
        pytest.param(waiting(ended(), attempt=1), None, id="the first attempt has no delay"),
        pytest.param(waiting(ended(), phase="Running"), None, id="not Pending"),
        pytest.param(run(status={"attempt": 2, "conditions": {"odd": 1}}), None, id="conditions that can't be read"),
        pytest.param(run(status={"attempt": 2, "conditions": None}), None, id="null conditions"),
    ],
)
def test_since_when_it_waits_for_its_retry(thing: Json, want: int | None) -> None:
    """From the transition of Running=False, of a Pending Run from its second attempt on."""
    found = item_from(thing)
    assert found.retry_from == want
    if want is not None:
        assert found.retry_seen == MONOTONIC


@pytest.mark.parametrize(
    ("later", "want_seen"),
    [
        pytest.param(waiting(ended()), MONOTONIC, id="the same wait goes on"),
        pytest.param(waiting(ended(ago(2))), MONOTONIC + 5, id="it ended once more"),
        pytest.param(waiting(ended(), attempt=3), MONOTONIC + 5, id="another attempt"),
    ],
)
def test_first_seen_is_remembered(later: Json, want_seen: float) -> None:
    """Every further observation of one wait leaves it where it began."""
    before = item_from(waiting(ended()))
    assert item_from(later, monotonic=MONOTONIC + 5, before=before).retry_seen == want_seen


# --- Pods ----------------------------------------------------------------------------------------------------------


def test_a_pod() -> None:
    """Every field that counts finds its place."""
    thing = pod("p", namespace="team", uid="u", runtime="py", capacity={"gpu": "2k", "runs": 5}, node="n1")
    assert candidate_from(thing) == Candidate(
        uid="u",
        pool=PoolKey("team", "py"),
        name="p",
        version=7,
        capacity={"gpu": 2000, "runs": 5},
        terminating=False,
        ready=True,
        stamp=NOW - SECOND,
        node="n1",
    )


@pytest.mark.parametrize(
    "thing",
    [
        pytest.param(pod(runtime=None), id="no label"),
        pytest.param(pod(runtime=""), id="an empty label"),
        pytest.param({"kind": "Pod", "metadata": {"name": "p", "labels": None}}, id="null labels"),
    ],
)
def test_a_pod_that_is_no_runtime_pod(thing: Json) -> None:
    """Without the label `runtime` it is none."""
    assert candidate_from(thing) is None


@pytest.mark.parametrize(
    ("annotations", "want"),
    [
        pytest.param({}, {"runs": 2}, id="absent: 2 runs"),
        pytest.param({"runs": "0"}, {"runs": 0}, id="0 is drained"),
        pytest.param({"runs": "1", "gpu": "0"}, {"runs": 1, "gpu": 0}, id="0 of another is advertised"),
        pytest.param({"mem": "1Ki"}, {"runs": 2, "mem": 1024}, id="binary suffix"),
        pytest.param({"mem": "3000m"}, {"runs": 2, "mem": 3}, id="whole after all"),
        pytest.param({"mem": str(MAX_UNITS)}, {"runs": 2, "mem": MAX_UNITS}, id="2^62"),
        pytest.param({"mem": "8E"}, {"runs": 2, "mem": MAX_UNITS}, id="more counts as 2^62"),
        pytest.param({"mem": "1e30"}, {"runs": 2, "mem": MAX_UNITS}, id="much more, too"),
        pytest.param({"runs": "-1"}, None, id="negative"),
        pytest.param({"gpu": "abc"}, None, id="unparsable"),
        pytest.param({"gpu": "500m"}, None, id="fractional"),
        pytest.param({"gpu": ""}, None, id="empty"),
        pytest.param({"runs": "4", "gpu": "1 "}, None, id="one bad one spoils all"),
    ],
)
def test_capacity(annotations: dict[str, str], want: dict[str, int] | None) -> None:
    """Whole units from the annotations; one that can't be read rejects the Pod."""
    found = candidate_from(pod(capacity=annotations))
    assert found is not None
    assert found.capacity == want


@pytest.mark.parametrize(
    ("thing", "want_ready", "want_stamp"),
    [
        pytest.param(pod(), True, NOW - SECOND, id="up"),
        pytest.param(pod(phase="Pending"), False, NOW - SECOND, id="not running"),
        pytest.param(pod(phase="Unknown"), False, NOW - SECOND, id="nobody knows"),
        pytest.param(pod(ready="False"), False, NOW - SECOND, id="Ready is False"),
        pytest.param(pod(ready="Unknown"), False, NOW - SECOND, id="Ready is Unknown"),
        pytest.param(pod(runtimed="False"), False, NOW - SECOND, id="runtimed is not ready"),
        pytest.param(pod(stamp=None), True, None, id="no heartbeat"),
        pytest.param(pod(stamp="x"), True, None, id="a heartbeat that can't be read"),
        pytest.param(pod() | {"status": None}, False, None, id="no status"),
        pytest.param(pod() | {"status": {"phase": "Running", "conditions": None}}, False, None, id="null conditions"),
        pytest.param(
            pod() | {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}},
            False,
            None,
            id="RuntimedReady is missing",
        ),
        pytest.param(pod() | {"spec": None}, True, NOW - SECOND, id="no spec"),
    ],
)
def test_readiness(thing: Json, *, want_ready: bool, want_stamp: int | None) -> None:
    """Running, Ready and RuntimedReady; the heartbeat is the probe time of the latter."""
    found = candidate_from(thing)
    assert found is not None
    assert (found.ready, found.stamp) == (want_ready, want_stamp)


def test_a_terminating_pod() -> None:
    """It has a deletionTimestamp."""
    found = candidate_from(pod(terminating=True))
    assert found is not None
    assert found.terminating


# --- workspaces ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "want"),
    [
        pytest.param({}, Workspace("u", "ns", "w", 7, "py", "Bound", "p1", "pu"), id="whole"),
        pytest.param({"status": None}, Workspace("u", "ns", "w", 7, "py", "", "", ""), id="no status"),
        pytest.param({"spec": None}, Workspace("u", "ns", "w", 7, "", "Bound", "p1", "pu"), id="no spec"),
        pytest.param(
            {"status": dict.fromkeys(("phase", "boundPod", "boundPodUID")), "spec": {"runtime": None}},
            Workspace("u", "ns", "w", 7, "", "", "", ""),
            id="null fields",
        ),
    ],
)
def test_a_workspace(change: Json, want: Workspace) -> None:
    """Absent and null are empty."""
    assert workspace_from(workspace(uid="u", bound_uid="pu") | change) == want
