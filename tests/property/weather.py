"""Random events in a world of plain Kubernetes JSON: whatever the other components of a cluster may do to it."""

from random import Random

from berth_server.placement.failures import PlacementError
from berth_server.placement.questions import ReleaseQuestion
from tests.harness import Harness


class Weather:
    """Random events in a world, of every kind that the view can be told."""

    def __init__(self, rng: Random, harness: Harness) -> None:
        self._rng = rng
        self._harness = harness
        self._made = 0

    async def blow(self) -> str:
        """Let one thing happen and say what."""
        rng = self._rng
        happen = rng.choice((self._run, self._run, self._pod, self._pod, self._workspace, self._client))
        return await happen()

    def _pick(self, kind: str) -> tuple[str, str] | None:
        names = sorted(self._harness.api._objects.get(kind, {}))
        return self._rng.choice(names) if names else None

    async def _run(self) -> str:
        key = self._pick("Run")
        if key is None:
            return "no Run"
        namespace, name = key
        harness, rng = self._harness, self._rng
        what = rng.choice(("delete", "finish", "label", "reset", "cancel", "affinity", "copy"))
        if what == "delete":
            await harness.delete("Run", name, namespace)
        elif what == "finish":
            await harness.set_status("Run", name, namespace, phase="Succeeded")
        elif what == "label":
            await harness.label("Run", name, namespace, app=rng.choice(("web", "db", "cache")))
        elif what == "reset":
            attempt = (harness.status(name, namespace).get("attempt") or 1) + 1
            changes = {"assignedPod": None, "assignedPodUID": None}
            await harness.set_status("Run", name, namespace, phase="Pending", attempt=attempt, **changes)
        elif what == "cancel":
            await harness.change("Run", name, {"spec": {"cancelRequested": True}}, namespace)
        elif what == "affinity":
            await harness.change("Run", name, {"spec": {"affinity": None}}, namespace)
        else:
            self._copy("Run", key)
        return f"{what} Run {namespace}/{name}"

    async def _pod(self) -> str:
        key = self._pick("Pod")
        if key is None:
            return "no Pod"
        namespace, name = key
        harness, rng = self._harness, self._rng
        what = rng.choice(("delete", "ready", "not ready", "capacity", "relabel", "copy", "mended"))
        if what == "delete":
            await harness.delete("Pod", name, namespace)
        elif what in {"ready", "not ready"}:
            await harness.set_ready(name, "True" if what == "ready" else "False", namespace)
        elif what == "capacity":
            await harness.set_capacity(name, namespace, runs=rng.choice((0, 1, 2, 3, "x", 8)))
        elif what == "relabel":
            await harness.label("Pod", name, namespace, runtime=rng.choice(("python", "node", "go")))
        elif what == "copy":
            self._copy("Pod", key)
        else:
            await harness.set_ready(name, "False", namespace)
            harness.pump()
            self._put_back(key)
        return f"{what} Pod {namespace}/{name}"

    async def _workspace(self) -> str:
        key = self._pick("PersistentWorkspace")
        if key is None:
            return "no workspace"
        namespace, name = key
        phase = self._rng.choice(("Pending", "Bound", "Lost", "gone"))
        if phase == "gone":
            await self._harness.delete("PersistentWorkspace", name, namespace)
        else:
            await self._harness.set_status("PersistentWorkspace", name, namespace, phase=phase)
        return f"{phase} workspace {namespace}/{name}"

    async def _client(self) -> str:
        """An outside client holds a Run somewhere, or lets go."""
        harness, rng = self._harness, self._rng
        held = [each for each in harness.reservations if each.owner == "client"]
        if held and rng.random() < 0.5:
            await harness.service.release(ReleaseQuestion(rng.choice(held).id, "client"))
            return "client releases"
        names = sorted(harness.core.state.item_uids)
        if not names:
            return "nothing to plan"
        namespace, name = rng.choice(names)
        try:
            await harness.plan(name, owner="client", namespace=namespace, hold=rng.choice((1.0, 30.0)))
        except PlacementError as error:
            return f"client hears {error.reason}"
        return f"client plans {namespace}/{name}"

    def _copy(self, kind: str, key: tuple[str, str]) -> None:
        raw = self._harness.api.get(self._harness.ref(kind, key[1], key[0]))
        self._made += 1
        meta = {**raw["metadata"], "name": f"{key[1]}-{self._made}", "uid": f"made-{self._made}"}
        changed = {"status": {"phase": "Pending"}} if kind == "Run" else {}
        self._harness.put({**raw, "metadata": meta, **changed})

    def _put_back(self, key: tuple[str, str]) -> None:
        """Let a Pod come back ready with other room than it had, in one event."""
        harness = self._harness
        raw = harness.api.get(harness.ref("Pod", key[1], key[0]))
        room = {"kruntimes.io/capacity.runs": str(self._rng.choice((1, 4)))}
        raw["metadata"]["annotations"] = {**(raw["metadata"].get("annotations") or {}), **room}
        for condition in (raw.get("status") or {}).get("conditions") or ():
            if condition["type"] == "Ready":
                condition["status"] = "True"
        del harness.api._objects["Pod"][key]
        harness.put(raw)
