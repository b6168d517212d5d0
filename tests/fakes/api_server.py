"""An API server in memory, for controllers of groups: it judges like the real one and remembers who wrote what."""

import copy
from collections.abc import Iterable
from typing import Any

from berth.workload import PriorityClass, review
from examples.job_controller.client import RESOURCES, AnyObject, ApiError, NotFound, ObjT, error_of, from_json, to_json

_Key = tuple[str, str, str]


class FakeApiServer:
    """Implements Client by `review`, with the verdicts of an API server (rule set `server`) and all gates open.

    `writes` lists what was stored, in order, as in "create PodGroup training-workers". A write whose line contains
    `broken` fails with 500 and stores nothing.
    """

    def __init__(self, *objects: AnyObject, classes: Iterable[PriorityClass] = ()) -> None:
        self._stored: dict[_Key, dict[str, Any]] = {}
        self._classes = tuple(classes)
        self._version = 0
        self.writes: list[str] = []
        self.broken: str | None = None
        for obj in objects:
            self.create(obj)
        self.writes.clear()

    def list(self, kind: type[ObjT], namespace: str) -> list[ObjT]:
        """All of a kind in a namespace, by name."""
        found = sorted(key for key in self._stored if key[:2] == (kind.__name__, namespace or "default"))
        return [from_json(kind, copy.deepcopy(self._stored[key])) for key in found]

    def get(self, kind: type[ObjT], namespace: str, name: str) -> ObjT:
        """The object as stored."""
        key = (kind.__name__, namespace or "default", name)
        if key not in self._stored:
            raise NotFound(404, f"{kind.__name__} {name} not found")
        return from_json(kind, copy.deepcopy(self._stored[key]))

    def create(self, obj: ObjT) -> ObjT:
        """Judge and store; uid, version and creation time are filled in."""
        key = _key(obj)
        self._write("create", key)
        stored = self._judged("create", obj, self._stored.get(key))
        self._version += 1
        stored["metadata"] |= {
            "namespace": key[1],
            "uid": f"uid-{self._version}",
            "creationTimestamp": f"2026-09-01T00:{self._version // 60:02}:{self._version % 60:02}Z",
        }
        return self._store(key, obj, stored)

    def replace(self, obj: ObjT) -> ObjT:
        """Judge against what is stored, and store."""
        key = _key(obj)
        self._write("replace", key)
        self._version += 1
        return self._store(key, obj, self._judged("update", obj, self._stored.get(key)))

    def delete(self, kind: type[AnyObject], namespace: str, name: str) -> None:
        """Take it away at once, as if its finalizers had done their work."""
        del self._stored[kind.__name__, namespace or "default", name]

    def _write(self, verb: str, key: _Key) -> None:
        line = f"{verb} {key[0]} {key[2]}"
        if self.broken is not None and self.broken in line:
            raise ApiError(500, "the API server is not well")
        self.writes.append(line)

    def _judged(self, operation: Any, obj: AnyObject, old: dict[str, Any] | None) -> dict[str, Any]:
        version = RESOURCES[type(obj)].version
        answer = review(operation, to_json(obj), version=version, old=old, classes=self._classes, rules="server")
        if answer.object is None:
            self.writes.pop()
            raise error_of(answer.code, answer.message)
        return answer.object

    def _store(self, key: _Key, obj: ObjT, body: dict[str, Any]) -> ObjT:
        body["metadata"]["resourceVersion"] = str(self._version)
        self._stored[key] = copy.deepcopy(body)
        return from_json(type(obj), body)


def _key(obj: AnyObject) -> _Key:
    return type(obj).__name__, obj.metadata.namespace or "default", obj.metadata.name
