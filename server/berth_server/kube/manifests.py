"""A cluster from files: what `--cluster FILE|DIR|-` means.

Objects come whole and in order, with what kubectl apply would have added, or not at all: a manifest that is dropped
silently is a wrong answer later. The clock of such a cluster stands still at the moment that its stamps tell, because
old heartbeats say nothing about today. This module must not judge a spec, and gives no versions: the store does.
"""

import sys
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import BinaryIO, Final

from berth_server.kube.documents import ManifestError, read_documents
from berth_server.kube.unpack import JSON, Found, unpack
from berth_server.objects.resources import RUNTIMED_READY, Pod
from berth_server.objects.timestamps import format_time, parse_time

_UIDS: Final = uuid.uuid5(uuid.NAMESPACE_DNS, "berth.dev")
"""The UUIDv5 namespace of made-up uids. Never change it: the same file must give the same uids for ever."""


@dataclass(frozen=True, slots=True)
class _AsOf:
    """The wall time by which stamps are judged, and where it comes from.

    If `live` it is only where the wall clock was at the start and time goes on, else it stands still.
    """

    instant: datetime
    origin: str
    live: bool = False


@dataclass(frozen=True, slots=True)
class LoadedCluster:
    """Objects as JSON values, complete but for their versions, in the order of the input; and the moment they show."""

    objects: list[JSON]
    as_of: datetime
    as_of_origin: str
    live: bool


def load_cluster(
    source: str, *, as_of: str = "", now: datetime | None = None, stdin: BinaryIO | None = None
) -> LoadedCluster:
    """Load a file, a folder (recursively, in order of path) or stdin (`-`).

    `as_of` is RFC 3339, `now`, or empty: then it is the newest heartbeat of a Runtime Pod in the input, else the newest
    creationTimestamp, else `now`. `now` and `stdin` are those of the process if left out. Raises ManifestError.
    """
    now = now or datetime.now(UTC)
    given = _given(as_of, now) if as_of else None
    documents = read_documents(source, stdin or sys.stdin.buffer)
    found = [one for document in documents for one in unpack(document)]
    if not found:
        raise ManifestError(f"{'stdin' if source == '-' else source}: there is no Kubernetes object in it")
    moment = (
        given or _newest(_heartbeats(found)) or _newest(_creations(found)) or _AsOf(now, "now, the input has no stamp")
    )
    objects = [_completed(one, moment.instant) for one in found]
    _check_unique(found, objects)
    return LoadedCluster(objects, moment.instant, moment.origin, moment.live)


# --- as of ---------------------------------------------------------------------------------------------------------


def _given(text: str, now: datetime) -> _AsOf:
    if text == "now":
        return _AsOf(now, "--as-of now", live=True)
    instant = parse_time(text)
    if instant is None:
        raise ManifestError(f"--as-of: {text!r} is neither 'now' nor an RFC 3339 time such as 2026-01-01T00:00:00Z")
    return _AsOf(instant, "--as-of")


def _newest(stamps: Iterable[_AsOf]) -> _AsOf | None:
    return max(stamps, key=lambda stamp: stamp.instant, default=None)


def _heartbeats(found: list[Found]) -> Iterator[_AsOf]:
    for one in found:
        if not isinstance(one.resource, Pod) or one.resource.status is None:
            continue
        for condition in one.resource.status.conditions or ():
            instant = parse_time(condition.last_probe_time or "")
            if condition.type == RUNTIMED_READY and instant is not None:
                yield _AsOf(instant, f"newest lastProbeTime, of {one.title}")


def _creations(found: list[Found]) -> Iterator[_AsOf]:
    """The creation times. A deletionTimestamp never counts: it lies in the future of the one who wrote it."""
    for one in found:
        instant = parse_time(one.raw["metadata"].get("creationTimestamp") or "")
        if instant is not None:
            yield _AsOf(instant, f"newest creationTimestamp, of {one.title}")


# --- completion ----------------------------------------------------------------------------------------------------


def _completed(one: Found, as_of: datetime) -> JSON:
    metadata = one.raw["metadata"]
    uid = metadata.get("uid") or str(uuid.uuid5(_UIDS, f"{one.kind}/{one.namespace}/{one.name}"))
    created = metadata.get("creationTimestamp") or format_time(as_of)
    return {**one.raw, "metadata": {**metadata, "uid": uid, "creationTimestamp": created}}


def _check_unique(found: list[Found], objects: list[JSON]) -> None:
    names: dict[tuple[str, str, str], Found] = {}
    uids: dict[str, Found] = {}
    for one, raw in zip(found, objects, strict=True):
        other = names.setdefault((one.kind, one.namespace, one.name), one)
        if other is not one:
            raise one.fault(f"the same object is in {other.place}")
        uid = raw["metadata"]["uid"]
        other = uids.setdefault(uid, one)
        if other is not one:
            raise one.fault(f"metadata.uid {uid} is also that of {other.title} in {other.place}")
