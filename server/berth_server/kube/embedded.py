"""An API server's store in memory: for a cluster from files, for what-if on a real dump, for play and for tests.

It is no mock: versions, conflicts, the status subresource, merge patches and watches behave as those of Kubernetes, and
the same contract suite judges both. Objects are kept as JSON bytes: what Berth does not know survives, and nobody can
change a stored object in place. It must not interpret an object beyond its metadata.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from berth_server.kube.history import Change, History
from berth_server.kube.kinds import kind_of, store_name
from berth_server.kube.mergepatch import merge_patch
from berth_server.kube.watch import Watch
from berth_server.objects.decode import DecodeError, decode, decode_all
from berth_server.objects.resources import Resource
from berth_server.objects.timestamps import format_time
from berth_server.placement.ports import ConflictError, EventType, Listing, NotFoundError, ObjectRef, RefusedError

JSON = dict[str, Any]
PAGE: Final = 500
DEFAULT_HISTORY: Final = 8192
"""Changes kept for each kind: at least half a minute of heartbeats of a thousand Pods."""


@dataclass(frozen=True, slots=True)
class _Stored:
    json: bytes
    uid: str
    version: int


class EmbeddedStore:
    """Implements `placement.ports.Store`, and the writes of everybody else: create, update, delete.

    Kinds are named as `kinds.store_name` does. All of it belongs to one event loop; a write happens at once, whole, and
    watchers may see it before its caller returns. `now` stamps what is created. Written by its own methods alone.
    """

    def __init__(
        self,
        *,
        history: int = DEFAULT_HISTORY,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        new_uid: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        self._objects: dict[str, dict[tuple[str, str], _Stored]] = {}
        self._histories: dict[str, History] = {}
        self._version = 0
        self._limit = history
        self._now = now
        self._new_uid = new_uid

    @property
    def version(self) -> int:
        """The version of the last write of any kind."""
        return self._version

    # --- placement.ports.Store ---------------------------------------------------------------------------------

    async def list(self, kind: str) -> AsyncIterator[Listing]:
        """See Store. In order of namespace and name."""
        version, every = self._version, [stored.json for _, stored in sorted(self._objects.get(kind, {}).items())]
        for start in range(0, len(every) or 1, PAGE):
            is_last = start + PAGE >= len(every)
            yield Listing(kind, version, *decode_all(kind, every[start : start + PAGE]), first=not start, last=is_last)

    def watch(self, kind: str, since: int) -> Watch:
        """See Store. Raises when it is iterated, and also if `since` is a version that this store never gave."""
        return Watch(kind, self._history(kind), since, newest=self._version)

    def age(self, kind: str) -> float:  # noqa: ARG002 -- as the Protocol has it
        """See Store. Nothing lies between this store and those who watch it."""
        return 0.0

    async def read(self, ref: ObjectRef) -> Resource:
        """See Store."""
        return _decoded(ref.kind, self._find(replace(ref, uid="")))

    async def patch_status(self, ref: ObjectRef, status: Mapping[str, Any], *, version: int) -> Resource:
        """See Store. A patch that changes nothing succeeds and leaves the version as it is.

        Also raises RefusedError for a status that the kind's struct can't take.
        """
        if not kind_of(ref.kind).has_status:
            raise NotFoundError(f"{ref.kind} has no status subresource")
        stored = self._find(ref)
        _check_version(ref, stored, str(version))
        old = _json(stored)
        # Through JSON, so that the caller's values (Raw among them) become plain ones and are not shared.
        patch = msgspec.json.decode(msgspec.json.encode(status))
        new = {**old, "status": merge_patch(old.get("status"), patch)}
        if _canonical(new) == _canonical(old):
            return _decoded(ref.kind, stored)
        successor = self._successor(stored, new)
        resource = _decoded(ref.kind, successor)
        await self._commit(ref, EventType.MODIFIED, successor)
        return resource

    # --- what others do to a cluster ---------------------------------------------------------------------------

    def load(self, objects: Iterable[JSON]) -> None:
        """Add objects whole, their status included, as a backup is restored; versions are given in this order.

        A missing uid or creationTimestamp is made up. Raises ConflictError for an object that is already there.
        """
        for raw in objects:
            ref, stored = self._new(raw, raw["metadata"])
            self._record(ref, EventType.ADDED, stored)

    async def create(self, raw: JSON) -> JSON:
        """Add an object as POST does: as a new one, and without its status if that is a subresource.

        Returns it as stored. Raises ConflictError if one of its name is there.
        """
        if kind_of(store_name(raw)).has_status:
            raw = {key: value for key, value in raw.items() if key != "status"}
        ref, stored = self._new(raw, {**raw["metadata"], "uid": "", "creationTimestamp": "", "generation": 1})
        await self._commit(ref, EventType.ADDED, stored)
        return _json(stored)

    async def update(self, raw: JSON) -> JSON:
        """Replace an object as PUT does: a status that is a subresource stays as it was, and so does its identity.

        Returns it as stored. Raises NotFoundError, or ConflictError if it carries a version or uid that is not the
        object's; one without a version is written whatever is there.
        """
        ref, metadata = _ref_of(raw), raw["metadata"]
        stored = self._find(ref)
        _check_version(ref, stored, metadata.get("resourceVersion"))
        if metadata.get("uid", stored.uid) != stored.uid:
            raise ConflictError(f"{_named(ref)} has the uid {stored.uid}, not {metadata['uid']}")
        old = _json(stored)
        new = _updated(old, raw, status_apart=kind_of(ref.kind).has_status)
        if _canonical(new) != _canonical(old):
            stored = self._successor(stored, new)
            await self._commit(ref, EventType.MODIFIED, stored)
        return _json(stored)

    async def delete(self, ref: ObjectRef) -> None:
        """Remove an object at once; finalizers are not waited for. Raises NotFoundError."""
        stored = self._find(ref)
        await self._commit(ref, EventType.DELETED, self._successor(stored, _json(stored)))

    def get(self, ref: ObjectRef) -> JSON:
        """Return the whole object, a copy. Raises NotFoundError."""
        return _json(self._find(ref))

    # --- inside ------------------------------------------------------------------------------------------------

    def _history(self, kind: str) -> History:
        history = self._histories.get(kind)
        if history is None:
            history = self._histories[kind] = History(self._limit)
        return history

    def _find(self, ref: ObjectRef) -> _Stored:
        stored = self._objects.get(ref.kind, {}).get((ref.namespace, ref.name))
        if stored is None:
            raise NotFoundError(f"{_named(ref)} is not there")
        if ref.uid and ref.uid != stored.uid:
            raise NotFoundError(f"{_named(ref)} has the uid {stored.uid}, not {ref.uid}")
        return stored

    def _new(self, raw: JSON, metadata: JSON) -> tuple[ObjectRef, _Stored]:
        ref = _ref_of(raw)
        if (ref.namespace, ref.name) in self._objects.get(ref.kind, {}):
            raise ConflictError(f"{_named(ref)} already exists")
        uid = metadata.get("uid") or self._new_uid()
        created = metadata.get("creationTimestamp") or format_time(self._now())
        metadata = {**metadata, "uid": uid, "creationTimestamp": created}
        return ref, self._successor(_Stored(b"", uid, 0), {**raw, "metadata": metadata})

    def _successor(self, stored: _Stored, raw: JSON) -> _Stored:
        """What an object becomes if the next write makes it `raw`. Nothing is written yet."""
        version = self._version + 1
        metadata = {**raw["metadata"], "resourceVersion": str(version)}
        return _Stored(msgspec.json.encode({**raw, "metadata": metadata}), stored.uid, version)

    async def _commit(self, ref: ObjectRef, event: EventType, stored: _Stored) -> None:
        self._record(ref, event, stored)
        # A writer in a loop must not starve those who watch.
        await asyncio.sleep(0)

    def _record(self, ref: ObjectRef, event: EventType, stored: _Stored) -> None:
        objects = self._objects.setdefault(ref.kind, {})
        if event is EventType.DELETED:
            del objects[ref.namespace, ref.name]
        else:
            objects[ref.namespace, ref.name] = stored
        self._version = stored.version
        self._history(ref.kind).append(Change(event, stored.version, stored.json))


def _updated(old: JSON, raw: JSON, *, status_apart: bool) -> JSON:
    """`old` replaced by `raw`, but for what a replacement must not touch."""
    kept = {key: old["metadata"].get(key) for key in ("uid", "creationTimestamp", "generation", "resourceVersion")}
    new = {**raw, "metadata": {**raw["metadata"], **{key: value for key, value in kept.items() if value is not None}}}
    if status_apart:
        new.pop("status", None)
        if "status" in old:
            new["status"] = old["status"]
    if _canonical(_body(new)) != _canonical(_body(old)):
        new["metadata"]["generation"] = (kept["generation"] or 0) + 1
    return new


def _body(raw: JSON) -> JSON:
    """What metadata.generation counts the changes of."""
    return {key: value for key, value in raw.items() if key not in {"metadata", "status"}}


def _canonical(raw: JSON) -> bytes:
    # Not ==, to which 1, 1.0 and true are the same.
    return msgspec.json.encode(raw, order="sorted")


def _json(stored: _Stored) -> JSON:
    raw: JSON = msgspec.json.decode(stored.json)
    return raw


def _decoded(kind: str, stored: _Stored) -> Resource:
    try:
        return decode(kind, stored.json)
    except DecodeError as error:
        raise RefusedError(str(error), code=422, reason="Invalid") from None


def _check_version(ref: ObjectRef, stored: _Stored, version: str | None) -> None:
    if version and version != str(stored.version):
        raise ConflictError(f"{_named(ref)} is at version {stored.version}, not {version}")


def _ref_of(raw: JSON) -> ObjectRef:
    return ObjectRef(store_name(raw), raw["metadata"].get("namespace") or "", raw["metadata"]["name"])


def _named(ref: ObjectRef) -> str:
    return f"{ref.kind} {ref.namespace}/{ref.name}" if ref.namespace else f"{ref.kind} {ref.name}"
