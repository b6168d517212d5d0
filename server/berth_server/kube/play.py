"""Plays the other components of kruntimes on an embedded store, so that a cluster from files lives.

Runtime Pods that were fresh go on giving heartbeats; a Scheduled Run is claimed and runs, and succeeds. All of it by
conditional writes to the status, as runtimed would: Berth sees nothing that a real cluster could not show. It must not
decide anything about placement, and must not be used on a real cluster.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from berth_server.kube.conditions import OwnCondition, with_own
from berth_server.kube.embedded import JSON, EmbeddedStore
from berth_server.objects.clock import Clock
from berth_server.objects.duration import parse_duration
from berth_server.objects.resources import RUNTIMED_READY, Pod, Resource, Run
from berth_server.objects.timestamps import format_time, parse_time
from berth_server.placement.ports import GoneError, NotFoundError, ObjectRef

DURATION_ANNOTATION: Final = "berth.dev/play-duration"
"""On a Run: how long it is Running, as a Go duration."""
DEFAULT_DURATION: Final = 20.0
HEARTBEAT_PERIOD: Final = 5.0
CLAIM_DELAY: Final = 1.0
"""Seconds, as all of these: from Scheduled to Running."""

_FRESH_AGE: Final = timedelta(seconds=15)
_FRESH_AHEAD: Final = timedelta(seconds=30)
"""A heartbeat is fresh at first sight if it is at most that old, or that far ahead of this machine's clock."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SCHEDULED: Final = "Scheduled"
_RUNNING: Final = "Running"

Sleep = Callable[[float], Awaitable[None]]
_Claim = tuple[int, str]
"""An assignment as the Run shows it: attempt and UID of the Pod."""


@dataclass(frozen=True, slots=True)
class _Life:
    """A Run on its way from Scheduled to Succeeded, for one assignment."""

    claim: _Claim
    task: asyncio.Task[None]


class Play:
    """One task, `run`, on the loop of its store. `duration`: seconds for Runs without (a valid) annotation."""

    def __init__(
        self, store: EmbeddedStore, clock: Clock, *, duration: float = DEFAULT_DURATION, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._store = store
        self._clock = clock
        self._duration = duration
        self._sleep = sleep
        self._lives: dict[str, _Life] = {}

    async def run(self) -> None:
        """Play until cancelled. Pods that are fresh now are kept fresh from now on."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._beat())
            await self._follow(tasks)

    # --- heartbeats --------------------------------------------------------------------------------------------

    async def _beat(self) -> None:
        now = self._now()
        alive = [
            _ref(pod)
            async for page in self._store.list(Pod.kind)
            for pod in page.resources
            if isinstance(pod, Pod) and _is_fresh(pod, now)
        ]
        while True:
            for ref in alive:
                with suppress(NotFoundError):
                    await self._give_heartbeat(ref)
            await self._sleep(HEARTBEAT_PERIOD)

    async def _give_heartbeat(self, ref: ObjectRef) -> None:
        raw = self._store.get(ref)
        stamp = format_time(self._now())
        conditions = [
            {**condition, "lastProbeTime": stamp} if condition.get("type") == RUNTIMED_READY else condition
            for condition in (raw.get("status") or {}).get("conditions") or ()
        ]
        await self._store.patch_status(ref, {"conditions": conditions}, version=_version(raw))

    # --- Runs --------------------------------------------------------------------------------------------------

    async def _follow(self, tasks: asyncio.TaskGroup) -> None:
        while True:
            version = 0
            async for page in self._store.list(Run.kind):
                version = page.version
                for run in page.resources:
                    self._observe(run, tasks)
            with suppress(GoneError):
                async for event in self._store.watch(Run.kind, version):
                    self._observe(event.resource, tasks)

    def _observe(self, run: Resource | None, tasks: asyncio.TaskGroup) -> None:
        """Begin the life of a Run that is assigned, and end that of one whose assignment is over."""
        if not isinstance(run, Run):
            return
        uid, claim = run.metadata.uid, _claim_of(run)
        life = self._lives.get(uid)
        if life is not None and life.claim != claim:
            self._lives.pop(uid).task.cancel()
            life = None
        if claim is not None and life is None:
            life = self._lives[uid] = _Life(claim, tasks.create_task(self._live(run, claim)))
            life.task.add_done_callback(lambda task: self._forget(uid, task))

    def _forget(self, uid: str, task: asyncio.Task[None]) -> None:
        if uid in self._lives and self._lives[uid].task is task:
            del self._lives[uid]

    async def _live(self, run: Run, claim: _Claim) -> None:
        ref = _ref(run)
        if run.status is not None and run.status.phase == _SCHEDULED:
            await self._sleep(CLAIM_DELAY)
            if not await self._advance(ref, claim, _SCHEDULED, _running):
                return
        await self._sleep(self._duration_of(run))
        await self._advance(ref, claim, _RUNNING, _succeeded)

    def _duration_of(self, run: Run) -> float:
        seconds = parse_duration((run.metadata.annotations or {}).get(DURATION_ANNOTATION, ""))
        return self._duration if seconds is None or seconds < 0 else seconds

    async def _advance(
        self, ref: ObjectRef, claim: _Claim, phase: str, change: Callable[[JSON, datetime], JSON]
    ) -> bool:
        """Write the change if the Run still is in that phase of that assignment, else return False."""
        try:
            raw = self._store.get(ref)
        except NotFoundError:
            return False
        status = raw.get("status") or {}
        if status.get("phase") != phase or _claim(status.get("attempt"), status.get("assignedPodUID")) != claim:
            return False
        # No await lies between reading and writing, so the version is the newest.
        await self._store.patch_status(ref, change(status, self._now()), version=_version(raw))
        return True

    def _now(self) -> datetime:
        return _EPOCH + timedelta(microseconds=self._clock.wall())


def _running(status: JSON, now: datetime) -> JSON:
    return {"phase": _RUNNING, "conditions": _with_own(status, now, OwnCondition("Running", "True", "Started"))}


def _succeeded(status: JSON, now: datetime) -> JSON:
    own = OwnCondition("Running", "False", "Succeeded"), OwnCondition("Completed", "True", "Succeeded")
    return {"phase": "Succeeded", "completionTime": format_time(now), "conditions": _with_own(status, now, *own)}


def _with_own(status: JSON, now: datetime, *own: OwnCondition) -> list[JSON]:
    return with_own(msgspec.json.encode(status.get("conditions")), own, now)


def _claim(attempt: int | None, pod_uid: str | None) -> _Claim:
    return attempt or 0, pod_uid or ""


def _claim_of(run: Run) -> _Claim | None:
    """The assignment of a Run that is Scheduled or Running, else None."""
    status = run.status
    if status is None or status.phase not in {_SCHEDULED, _RUNNING}:
        return None
    return _claim(status.attempt, status.assigned_pod_uid)


def _is_fresh(pod: Pod, now: datetime) -> bool:
    conditions = (pod.status.conditions if pod.status else None) or ()
    stamps = (parse_time(one.last_probe_time or "") for one in conditions if one.type == RUNTIMED_READY)
    return any(stamp is not None and -_FRESH_AHEAD <= now - stamp <= _FRESH_AGE for stamp in stamps)


def _ref(resource: Pod | Run) -> ObjectRef:
    metadata = resource.metadata
    return ObjectRef(resource.kind, metadata.namespace, metadata.name, metadata.uid)


def _version(raw: JSON) -> int:
    return int(raw["metadata"]["resourceVersion"])
