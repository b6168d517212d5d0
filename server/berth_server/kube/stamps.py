"""Moves a cluster in time: what was stale stays stale, what was fresh is fresh.

A field is a stamp by the API conventions of Kubernetes: its name ends in Time or Timestamp, its value is RFC 3339. This
module must not know which stamps mean what.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from berth_server.kube.manifests import LoadedCluster
from berth_server.objects.timestamps import format_time, parse_time


def brought_to(cluster: LoadedCluster, now: datetime) -> LoadedCluster:
    """Return the cluster as if its moment were now: every stamp moved by the difference, and time goes on from here."""
    by = now - cluster.as_of
    origin = f"now, all stamps moved from {format_time(cluster.as_of)} ({cluster.as_of_origin})"
    return replace(
        cluster, objects=[_moved(raw, by) for raw in cluster.objects], as_of=now, as_of_origin=origin, live=True
    )


def _moved(value: Any, by: timedelta, field: str = "") -> Any:
    match value:
        case dict():
            return {key: _moved(member, by, key) for key, member in value.items()}
        case list():
            return [_moved(member, by) for member in value]
        case str() if field.endswith(("Time", "Timestamp")):
            return _moved_stamp(value, by)
    return value


def _moved_stamp(text: str, by: timedelta) -> str:
    instant = parse_time(text)
    if instant is None:
        return text
    try:
        return format_time(instant + by)
    except OverflowError:
        # A stamp at the end of the calendar means never, and stays there.
        return text
