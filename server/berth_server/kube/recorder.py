"""Kubernetes Events (`events.k8s.io/v1`), for people who describe one object. The least of all writes.

What repeats is one Event with a series, told at most once a minute. An Event waits while many assignments are on their
way; beyond a small rate, and a bounded queue, Events are dropped and counted. Nothing waits for one, and a failure is
never tried again.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from berth_server.kube.connection import JSON_TYPE, MERGE_PATCH, Connection
from berth_server.kube.kinds import kind_of
from berth_server.objects.timestamps import format_time
from berth_server.observability.metrics import Metrics
from berth_server.placement.ports import KubeError, ObjectRef

CONTROLLER: Final = "berth.dev/scheduler"
REPEAT_SECONDS: Final = 60.0
SERIES_SECONDS: Final = 360.0
"""What happens again later than that is a new Event; the API server forgets an Event after an hour."""
PER_SECOND: Final = 10.0
MAX_QUEUED: Final = 256
MAX_SERIES: Final = 4096
_NOTE_BYTES: Final = 1024
_TIMEOUT_SECONDS: Final = 5.0
_NAME_CHARACTERS: Final = 220
_NOT_FOUND: Final = 404
_ACTIONS: Final = {"Scheduled": ("Binding", "Normal"), "FailedScheduling": ("Scheduling", "Warning")}
"""Reason -> action and type."""


@dataclass(slots=True)
class _Series:
    """One Event on the API server, and how often it happened. Times are monotonic seconds."""

    namespace: str
    name: str
    count: int
    last: float
    told: float
    created: bool = False


@dataclass(frozen=True, slots=True)
class _New:
    series: _Series
    body: dict[str, Any]


_Pending = _New | _Series


class EventRecorder:
    """Implements `placement.ports.Recorder`. `record` never waits; `run` sends."""

    def __init__(
        self,
        connection: Connection,
        metrics: Metrics,
        instance: str,
        now: Callable[[], datetime],
        monotonic: Callable[[], float],
        busy: Callable[[], bool],
    ) -> None:
        """`busy`: whether the API server has more important things to write."""
        self._connection = connection
        self._metrics = metrics
        self._instance = instance
        self._now = now
        self._monotonic = monotonic
        self._busy = busy
        self._series: OrderedDict[tuple[str, str], _Series] = OrderedDict()
        self._queue: asyncio.Queue[_Pending] = asyncio.Queue(MAX_QUEUED)

    def record(self, regarding: ObjectRef, reason: str, note: str, *, related: ObjectRef | None = None) -> None:
        """See Recorder. The note of a series is its first."""
        now, key = self._monotonic(), (regarding.uid, reason)
        known = self._series.get(key)
        if known is None or now - known.last > SERIES_SECONDS:
            if self._queue.full():
                # In a burst that is the normal case, so it comes before the Event is made.
                self._metrics.events["dropped"].inc()
                return
            name = f"{regarding.name[:_NAME_CHARACTERS]}.{secrets.token_hex(8)}"
            self._series[key] = known = _Series(regarding.namespace or "default", name, 1, now, now)
            self._enqueue(_New(known, self._body(known, regarding, reason, note, related)))
        else:
            known.count += 1
            known.last = now
            if known.created and now - known.told >= REPEAT_SECONDS and self._enqueue(known):
                known.told = now
        self._series.move_to_end(key)
        if len(self._series) > MAX_SERIES:
            self._series.popitem(last=False)

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            pending = await self._queue.get()
            while self._busy():  # noqa: ASYNC110 -- a write that ends must not have to wake anybody for this
                await asyncio.sleep(1 / PER_SECOND)
            try:
                sent = await self._send(pending)
            except KubeError:
                sent = False
            self._metrics.events["sent" if sent else "failed"].inc()
            await asyncio.sleep(1 / PER_SECOND)

    def _enqueue(self, pending: _Pending) -> bool:
        try:
            self._queue.put_nowait(pending)
        except asyncio.QueueFull:
            self._metrics.events["dropped"].inc()
            return False
        return True

    async def _send(self, pending: _Pending) -> bool:
        if isinstance(pending, _New):
            series, method, name = pending.series, "POST", ""
            body, content = pending.body, JSON_TYPE
        else:
            series, method, name = pending, "PATCH", pending.name
            body = {"series": {"count": series.count, "lastObservedTime": _micro_time(self._now())}}
            content = MERGE_PATCH
        path = kind_of("Event.events.k8s.io").path(series.namespace, name)
        answer = await self._connection.request(
            method, path, body=msgspec.json.encode(body), content_type=content, seconds=_TIMEOUT_SECONDS
        )
        series.created = answer.code in {200, 201}
        if answer.code == _NOT_FOUND:
            # The API server has forgotten the Event: what happens next is a new one.
            series.last = -SERIES_SECONDS
        return series.created

    def _body(
        self, series: _Series, regarding: ObjectRef, reason: str, note: str, related: ObjectRef | None
    ) -> dict[str, Any]:
        action, severity = _ACTIONS[reason]
        body = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"namespace": series.namespace, "name": series.name},
            "eventTime": _micro_time(self._now()),
            "reportingController": CONTROLLER,
            "reportingInstance": self._instance,
            "action": action,
            "reason": reason,
            "type": severity,
            "note": note.encode()[:_NOTE_BYTES].decode(errors="ignore"),
            "regarding": _reference(regarding),
        }
        return body if related is None else {**body, "related": _reference(related)}


def _micro_time(now: datetime) -> str:
    """MicroTime has six decimals or is refused, also on a whole second."""
    return format_time(now.replace(microsecond=now.microsecond or 1))


def _reference(ref: ObjectRef) -> dict[str, str]:
    kind = kind_of(ref.kind)
    version = f"{kind.group}/{kind.version}" if kind.group else kind.version
    return {"apiVersion": version, "kind": kind.name, "namespace": ref.namespace, "name": ref.name, "uid": ref.uid}
