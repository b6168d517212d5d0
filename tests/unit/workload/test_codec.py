"""Decoding as the API server decodes, and times."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from berth.workload.codec import DecodeError, Reading, decode, encode
from berth.workload.models import Condition, Model, ObjectMeta, Pod, PodGroupSpec, Workload, WorkloadSpec
from berth.workload.times import format_time, parse_time


@pytest.mark.parametrize(
    ("model", "body", "want_field"),
    [
        pytest.param(Workload, [], "", id="list-for-object"),
        pytest.param(Workload, {"spec": "x"}, "spec", id="string-for-object"),
        pytest.param(WorkloadSpec, {"podGroupTemplates": {}}, "podGroupTemplates", id="object-for-list"),
        pytest.param(
            WorkloadSpec,
            {"podGroupTemplates": [None, {"name": 1}]},
            "podGroupTemplates[1].name",
            id="number-for-string-in-an-item",
        ),
        pytest.param(PodGroupSpec, {"priority": 4.0}, "priority", id="whole-float"),
        pytest.param(PodGroupSpec, {"priority": True}, "priority", id="bool-for-number"),
        pytest.param(PodGroupSpec, {"priority": "4"}, "priority", id="string-for-number"),
        pytest.param(PodGroupSpec, {"priority": 2**31}, "priority", id="over-int32"),
        pytest.param(PodGroupSpec, {"priority": 10**5000}, "priority", id="over-everything"),
        pytest.param(ObjectMeta, {"generation": 2**63}, "generation", id="over-int64"),
        pytest.param(ObjectMeta, {"labels": {"a": 1}}, "labels.a", id="number-for-label"),
        pytest.param(ObjectMeta, {"labels": []}, "labels", id="list-for-labels"),
        pytest.param(
            ObjectMeta, {"ownerReferences": [{"controller": "true"}]}, "ownerReferences[0].controller", id="bool"
        ),
        pytest.param(ObjectMeta, {"creationTimestamp": "yesterday"}, "creationTimestamp", id="time"),
        pytest.param(ObjectMeta, {"creationTimestamp": ""}, "creationTimestamp", id="empty-time"),
    ],
)
def test_another_type_than_the_field(model: type[Model], body: Any, want_field: str) -> None:
    """No object can be made, and the error says where."""
    with pytest.raises(DecodeError) as caught:
        decode(model, body, Reading())
    assert caught.value.field == want_field


def test_null_is_absent() -> None:
    """In fields, list items and maps alike."""
    assert decode(WorkloadSpec, {"podGroupTemplates": None, "controllerRef": None}, Reading()) == WorkloadSpec()
    assert decode(ObjectMeta, {"labels": {"a": None}, "finalizers": [None]}, Reading()) == ObjectMeta(
        labels={"a": ""}, finalizers=("",)
    )


def test_a_partly_modelled_kind_keeps_the_rest() -> None:
    """What a Pod has beyond its group is neither lost nor called unknown; inside the group it is."""
    reading = Reading()
    body = {"spec": {"containers": [1], "schedulingGroup": {"podGroupName": "a", "x": 1}}, "status": {}}
    pod = decode(Pod, body, reading)
    assert reading.unknown == ["spec.schedulingGroup.x"]
    assert encode(pod) == {"spec": {"schedulingGroup": {"podGroupName": "a"}, "containers": [1]}, "status": {}}


def test_served_objects_show_what_servers_show() -> None:
    """A server writes some fields though they are unset; a manifest does not."""
    assert encode(Condition(type="A"), served=True) == {
        "type": "A",
        "status": "",
        "lastTransitionTime": None,
        "reason": "",
        "message": "",
    }
    assert encode(Condition(type="A")) == {"type": "A"}
    assert encode(Workload(), served=True) == {"spec": {"podGroupTemplates": None}}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("2026-09-01T00:00:00Z", "2026-09-01T00:00:00Z", id="utc"),
        pytest.param("2026-09-01T02:00:00+02:00", "2026-09-01T00:00:00Z", id="zone"),
        pytest.param("2026-09-01T00:00:00.987654321Z", "2026-09-01T00:00:00Z", id="fraction-is-cut"),
        pytest.param("2026-09-01", None, id="date"),
        pytest.param("2026-09-01 00:00:00Z", None, id="blank"),
        pytest.param("2026-09-01T00:00:00", None, id="no-zone"),
        pytest.param("2026-02-30T00:00:00Z", None, id="no-such-day"),
        pytest.param("2026-09-01T24:00:00Z", None, id="hour-24"),
        pytest.param("2026-09-01T00:00:60Z", None, id="leap-second"),
        pytest.param("0001-01-01T00:00:00+23:00", None, id="before-the-calendar"),
        pytest.param("٢٠٢٦-09-01T00:00:00Z", None, id="other-digits"),
    ],
)
def test_times(text: str, want: str | None) -> None:
    """RFC 3339 in, whole seconds in UTC out."""
    time = parse_time(text)
    assert (format_time(time) if time else None) == want


def test_a_time_needs_a_zone() -> None:
    """A naive time could be anything."""
    with pytest.raises(ValueError, match="time zone"):
        format_time(datetime(2026, 9, 1))  # noqa: DTZ001
    assert format_time(datetime(2026, 9, 1, tzinfo=timezone(timedelta(hours=2)))) == "2026-08-31T22:00:00Z"
    assert format_time(datetime(1000, 1, 1, tzinfo=UTC)) == "1000-01-01T00:00:00Z"
