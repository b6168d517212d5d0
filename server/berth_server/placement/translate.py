"""From decoded objects to what placement works on: Items, Candidates, Workspaces. Pure.

This is where the wording of kruntimes' API ends: labels, annotations and condition types become fields here.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

import msgspec

from berth_server.objects.item import Item, Stage
from berth_server.objects.quantity import MAX_UNITS, whole_units
from berth_server.objects.resources import (
    CAPACITY_PREFIX,
    GROUP_ANNOTATION,
    RUNTIME_LABEL,
    RUNTIMED_READY,
    Condition,
    PersistentWorkspace,
    Pod,
    PodStatus,
    Run,
    RunSpec,
    RunStatus,
)
from berth_server.objects.runspec import RUNS, ParsedSpec, parse_spec
from berth_server.objects.timestamps import parse_time
from berth_server.state.candidate import Candidate, PoolKey
from berth_server.state.view import Workspace

DEFAULT_RUNS: Final = 2
"""What a Runtime Pod without the annotation `kruntimes.io/capacity.runs` takes."""

NEVER: Final = 2**62
"""Wall microseconds of an instant that does not come."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_conditions = msgspec.json.Decoder(list[Condition])


@lru_cache(maxsize=1024)
def micros(text: str | None) -> int | None:
    """Return an RFC 3339 instant in wall microseconds, None if there is none or it can't be parsed."""
    instant = parse_time(text) if text else None
    return None if instant is None else (instant - _EPOCH) // _MICROSECOND


def instant(wall: int) -> datetime:
    """Return wall microseconds as a datetime."""
    return _EPOCH + wall * _MICROSECOND


def item_of(run: Run, *, version: int, monotonic: float, before: Item | None = None) -> Item:
    """Translate a Run. `before` is the same UID as last observed, if it was."""
    metadata, status = run.metadata, run.status or RunStatus()
    attempt = 1 if status.attempt is None else status.attempt
    item = Item(
        uid=metadata.uid,
        namespace=metadata.namespace,
        name=metadata.name,
        version=version,
        spec=_spec_of(run, before),
        labels=metadata.labels or {},
        phase=status.phase or "",
        attempt=attempt,
        arrival=micros(metadata.creation_timestamp) or 0,
        terminating=metadata.deletion_timestamp is not None,
        assigned_name=status.assigned_pod or "",
        assigned_uid=status.assigned_pod_uid or "",
        link=(metadata.annotations or {}).get(GROUP_ANNOTATION),
        message=status.message or "",
        conditions=b"" if status.conditions is None else bytes(status.conditions),
        generation=metadata.generation,
    )
    if item.stage is not Stage.PENDING or attempt < 2:
        return item
    return _with_retry(item, monotonic, before)


def candidate_of(pod: Pod, *, version: int) -> Candidate | None:
    """Translate a Pod; None if it is no Runtime Pod."""
    metadata = pod.metadata
    runtime = (metadata.labels or {}).get(RUNTIME_LABEL)
    if not runtime:
        return None
    status = pod.status or PodStatus()
    conditions = {condition.type: condition for condition in status.conditions or ()}
    runtimed = conditions.get(RUNTIMED_READY, Condition())
    up = (status.phase, conditions.get("Ready", Condition()).status, runtimed.status) == ("Running", "True", "True")
    return Candidate(
        uid=metadata.uid,
        pool=PoolKey(metadata.namespace, runtime),
        name=metadata.name,
        version=version,
        capacity=_capacity(metadata.annotations or {}),
        terminating=metadata.deletion_timestamp is not None,
        ready=up,
        stamp=micros(runtimed.last_probe_time),
        node=(pod.spec.node_name or "") if pod.spec is not None else "",
    )


def workspace_of(workspace: PersistentWorkspace, *, version: int) -> Workspace:
    """Translate a PersistentWorkspace."""
    metadata, status = workspace.metadata, workspace.status
    return Workspace(
        uid=metadata.uid,
        namespace=metadata.namespace,
        name=metadata.name,
        version=version,
        runtime=((workspace.spec.runtime if workspace.spec is not None else None) or ""),
        phase=(status.phase if status is not None else None) or "",
        bound_pod=(status.bound_pod if status is not None else None) or "",
        bound_pod_uid=(status.bound_pod_uid if status is not None else None) or "",
    )


def _spec_of(run: Run, before: Item | None) -> ParsedSpec:
    # The API server counts the changes of a spec in metadata.generation; most of what is observed is of the status.
    generation = run.metadata.generation
    if before is not None and generation is not None and generation == before.generation:
        return before.spec
    return parse_spec(run.spec or RunSpec())


def _with_retry(item: Item, monotonic: float, before: Item | None) -> Item:
    """Note since when the item waits for its retry: another machine's clock must not hold it for an hour."""
    try:
        conditions = {condition.type: condition for condition in _conditions.decode(item.conditions or b"[]") or ()}
    except msgspec.DecodeError:
        return item
    ended = conditions.get("Running", Condition())
    if ended.status != "False":
        return item
    since = micros(ended.last_transition_time)
    # A condition without a time has ended "now": what is left is the delay from first sight.
    retry_from = NEVER if since is None else since
    known = before is not None and (before.attempt, before.retry_from) == (item.attempt, retry_from)
    seen = before.retry_seen if before is not None and known else monotonic
    return replace(item, retry_from=retry_from, retry_seen=seen)


def _capacity(annotations: dict[str, str]) -> dict[str, int] | None:
    """Return whole units, at most 2^62 each; None if any annotation is unparsable, negative or fractional."""
    capacity = {RUNS: DEFAULT_RUNS}
    for key, text in annotations.items():
        if key.startswith(CAPACITY_PREFIX):
            units = whole_units(text)
            if units is None:
                return None
            capacity[key.removeprefix(CAPACITY_PREFIX)] = min(units, MAX_UNITS)
    return capacity
