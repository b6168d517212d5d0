"""A small cluster that changes at random, and a state that follows it late, in pieces, and sometimes by relisting.

`told` holds what the state has been told so far, `seen` the last good version of each object in it: from that a second
state can be built at any moment. Now and then a write makes an object that can't be decoded, and a later one mends it.
"""

from collections import Counter
from copy import deepcopy
from random import Random
from typing import TYPE_CHECKING, Any

from berth_server.objects.changes import ChangeKind
from berth_server.objects.decode import DecodeError, Undecodable
from berth_server.objects.item import Stage
from berth_server.placement.ingest import KINDS, Change, Ingest
from berth_server.placement.ports import EventType, Listing, WatchEvent
from berth_server.state.cluster import ClusterState
from berth_server.state.reservations import End, Reservation, Reservations, State
from tests.builders import MONOTONIC, NOW, Json, ago, avoids, broken, decoded, joins, node, pod, run, term, workspace
from tests.fakes.clock import FakeClock
from tests.fakes.log import NullLog
from tests.fakes.store import DeafStore

if TYPE_CHECKING:
    from berth_server.objects.resources import Resource

NAMESPACES, RUNTIMES = ("a", "b"), ("py", "js")
POD_NAMES, RUN_NAMES = ("p0", "p1", "p2", "p3"), ("r0", "r1", "r2", "r3", "r4", "r5", "r6")
LABELS: tuple[dict[str, str], ...] = ({}, {"app": "web"}, {"app": "db"}, {"app": "web", "tier": "x"})
AFFINITIES: tuple[Json | None, ...] = (
    None,
    joins(term(app="web")),
    avoids(term(app="web")),
    avoids(term(app="db"), term(tier="x")),
    joins(term(tier="x"), preferred=[(5, term(app="db"))]),
    avoids({**term(app="web"), "topologyKey": "zone"}),
)
REQUESTS = (None, {"runs": 2}, {"gpu": 1}, {"gpu": 2, "runs": 1}, {"gpu": "odd"}, {"mem": 2**62})
CAPACITIES: tuple[dict[str, Any], ...] = (
    {},
    {"runs": 5},
    {"gpu": 2},
    {"gpu": 3, "mem": "8E"},
    {"runs": 0},
    {"gpu": "x"},
)
ODD, ODD_TURNS = 0.05, 0.2
"""How many writes make what can't be decoded: of what was well, and where it begins, ends, or was so before."""
Key = tuple[str, str, str]
"""(kind, namespace, name)."""


def key_of(thing: Json) -> Key:
    """Return the key of an object."""
    return thing["kind"], thing["metadata"].get("namespace", ""), thing["metadata"]["name"]


def is_odd(thing: Json) -> bool:
    """Tell whether an object was broken."""
    return bool(thing["metadata"].get("creationTimestamp") == broken(thing)["metadata"]["creationTimestamp"])


def follower(seen: ClusterState) -> Ingest:
    """Return an ingest into a state, on a clock that stands still."""
    return Ingest(DeafStore(), seen, FakeClock(monotonic=MONOTONIC, wall=NOW), NullLog())


class ChangingCluster:
    """`api`: what exists. `late`: the events, by kind, that the state has not been told yet. `done`: what happened."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.api: dict[Key, Json] = {}
        self.late: dict[str, list[WatchEvent]] = {kind: [] for kind in KINDS}
        self.told: dict[Key, Json] = {}
        self.seen: dict[Key, Json] = {}
        self.raw: dict[tuple[str, int], Json] = {}
        self.resources: dict[tuple[str, int], Resource] = {}
        self.undecodable: dict[tuple[str, int], Undecodable] = {}
        self.done: Counter[str] = Counter()
        self.state = ClusterState(NOW)
        self.ingest = follower(self.state)
        self.reservations = Reservations(self.state, self._ended)
        self.ingest.subscribe(self._changed)
        self._version = 0
        self._steps = [
            *[self.pod_step, self.run_step] * 3,
            self.workspace_step,
            self.node_step,
            *[self.deliver] * 8,
            self.relist,
            self.repeat_an_old_event,
            *[self.hold] * 2,
            *[self.bind_step] * 2,
            self.drop,
        ]

    def step(self) -> None:
        """Let one thing happen."""
        self.rng.choice(self._steps)()

    # --- the API changes -------------------------------------------------------------------------------------------

    def pod_step(self) -> None:
        """A Pod is created, recreated, relabelled, resized, or goes."""
        key = ("Pod", self.rng.choice(NAMESPACES), self.rng.choice(POD_NAMES))
        known = self.api.get(key)
        if known is None or self.rng.random() < 0.12:
            what = "pod created" if known is None else "pod recreated"
            self._write(key, self._new_pod(key), what)
            return
        thing = deepcopy(known)
        match self.rng.randrange(7):
            case 0:
                self._delete(key, "pod deleted")
            case 1 if thing["metadata"].get("labels"):
                thing["metadata"]["labels"] = None
                self._write(key, thing, "label removed")
            case 1 | 2:
                restored = not thing["metadata"].get("labels")
                thing["metadata"]["labels"] = {"runtime": self.rng.choice(RUNTIMES)}
                self._write(key, thing, "label restored" if restored else "label written")
            case 3 | 4:
                capacity = self.rng.choice(CAPACITIES)
                thing["metadata"]["annotations"] = pod(capacity=capacity)["metadata"]["annotations"]
                self._write(key, thing, "capacity changed")
            case _:
                thing["status"] = self._new_pod(key)["status"]
                self._write(key, thing, "readiness changed")

    def _new_pod(self, key: Key) -> Json:
        _, namespace, name = key
        return pod(
            name,
            namespace=namespace,
            uid=f"{namespace}/{name} of {self._version + 1}",
            runtime=self.rng.choice((*RUNTIMES, "py", None)),
            capacity=self.rng.choice(CAPACITIES),
            ready="False" if self.rng.random() < 0.1 else "True",
            stamp=self.rng.choice((ago(1), ago(14), ago(14), ago(16), ago(-31), None)),
        )

    def run_step(self) -> None:
        """A Run is created, recreated, changed, assigned, ends, or goes."""
        key = ("Run", self.rng.choice(NAMESPACES), self.rng.choice(RUN_NAMES))
        known = self.api.get(key)
        if known is None or self.rng.random() < 0.08:
            self._write(key, self._new_run(key), "run created" if known is None else "run recreated")
            return
        thing = deepcopy(known)
        match self.rng.randrange(9):
            case 0:
                self._delete(key, "run deleted")
            case 1:
                thing["status"]["message"] = f"waits {self._version}"
                self._write(key, thing, "message changed")
            case 2:
                thing["metadata"]["labels"] = dict(self.rng.choice(LABELS))
                self._write(key, thing, "labels changed")
            case 3:
                thing["spec"] = self._new_run(key)["spec"]
                self._write(key, thing, "spec changed")
            case 4:
                thing["status"]["phase"] = self.rng.choice(("Succeeded", "Pending", "Odd", "Running"))
                self._write(key, thing, "phase changed")
            case 5:
                thing["metadata"]["deletionTimestamp"] = ago(0)
                self._write(key, thing, "run terminating")
            case _:
                self._assign(key, thing)

    def _new_run(self, key: Key) -> Json:
        _, namespace, name = key
        return run(
            name,
            namespace=namespace,
            uid=f"{namespace}/{name} of {self._version + 1}",
            labels=dict(self.rng.choice(LABELS)),
            runtime=self.rng.choice((*RUNTIMES, "py")),
            requests=self.rng.choice(REQUESTS),
            affinity=self.rng.choice(AFFINITIES),
            workspace=self.rng.choice((None, None, "w")),
        )

    def _assign(self, key: Key, thing: Json) -> None:
        name = self.rng.choice(POD_NAMES)
        there = self.api.get(("Pod", key[1], name))
        uid = there["metadata"]["uid"] if there is not None else f"{key[1]}/{name} of nobody"
        how = self.rng.choice(("by uid", "by uid", "by name"))
        thing["status"] = {"phase": "Running", "assignedPod": name}
        if how == "by uid":
            thing["status"]["assignedPodUID"] = uid
        view = self.state.candidate_uids.get((key[1], name))
        self._write(key, thing, f"assigned {how}" if view else "assigned before its pod was seen")

    def workspace_step(self) -> None:
        """A workspace is created, bound elsewhere, lost, or goes."""
        key = ("PersistentWorkspace", self.rng.choice(NAMESPACES), "w")
        if key in self.api and self.rng.random() < 0.3:
            self._delete(key, "workspace deleted")
            return
        phase, bound = self.rng.choice(("Bound", "Bound", "Lost", "Pending")), self.rng.choice(POD_NAMES)
        runtime = self.rng.choice((*RUNTIMES, "py"))
        uid = self.rng.choice(("", "", "gone"))
        thing = workspace(namespace=key[1], runtime=runtime, phase=phase, bound=bound, bound_uid=uid)
        self._write(key, thing, "workspace changed")

    def node_step(self) -> None:
        """A Node is written; nothing depends on it yet."""
        self._write(("Node", "", "n1"), node(labels={"zone": self.rng.choice("xy")}), "node changed")

    def mend(self) -> None:
        """Write everything that can't be decoded until it can."""
        while odd := [key for key, thing in self.api.items() if is_odd(thing)]:
            self._write(odd[0], deepcopy(self.api[odd[0]]), "mended by hand")

    def _write(self, key: Key, thing: Json, what: str) -> int:
        known = self.api.get(key)
        self._version += 1
        thing["metadata"] |= {"resourceVersion": str(self._version), "creationTimestamp": ago(60)}
        same = known is not None and known["metadata"]["uid"] == thing["metadata"]["uid"]
        thing["metadata"]["generation"] = 1
        if known is not None and same:
            # As an API server counts: a spec, and all else that is neither metadata nor status.
            thing["metadata"]["generation"] = known["metadata"]["generation"] + (known.get("spec") != thing.get("spec"))
        was_odd = known is not None and is_odd(known)
        if self.rng.random() < (ODD if same and not was_odd else ODD_TURNS):
            thing = broken(thing)
        if was_odd:
            self.done["odd again" if is_odd(thing) else "mended" if same else "recreated well"] += 1
        elif is_odd(thing):
            self.done["made odd" if known else "odd from the start"] += 1
        self.api[key] = thing
        # Recreated while the watch is broken, an object shows as one modification.
        self._queue(EventType.ADDED if known is None else EventType.MODIFIED, thing)
        self.done[what] += 1
        return self._version

    def _delete(self, key: Key, what: str) -> None:
        self._version += 1
        thing = deepcopy(self.api.pop(key))
        thing["metadata"]["resourceVersion"] = str(self._version)
        if self.rng.random() < ODD_TURNS:
            thing = broken(thing)
        self._queue(EventType.DELETED, thing)
        self.done["odd deleted" if is_odd(thing) else what] += 1

    def _queue(self, event: EventType, thing: Json) -> None:
        at = thing["kind"], self._version
        self.raw[at] = deepcopy(thing)
        try:
            self.resources[at] = decoded(thing)
        except DecodeError as error:
            self.undecodable[at] = error.undecodable
        self.late[thing["kind"]].append(self._event(event, *at))

    def _event(self, event: EventType, kind: str, version: int) -> WatchEvent:
        at = kind, version
        return WatchEvent(event, kind, version, self.resources.get(at), self.undecodable.get(at))

    # --- the state is told -----------------------------------------------------------------------------------------

    def deliver(self) -> None:
        """Tell the state the next few events of one kind: kinds may be far apart."""
        kind = self.rng.choice(KINDS)
        count = self.rng.choice((1, 2, 5, 99))
        events, self.late[kind] = self.late[kind][:count], self.late[kind][count:]
        for event in events:
            self._note(event)
            self.ingest.apply(event)

    def _note(self, event: WatchEvent) -> None:
        thing = self.raw[event.kind, event.version]
        if event.type is EventType.DELETED:
            self.told.pop(key_of(thing), None)
            self.seen.pop(key_of(thing), None)
        else:
            self._note_there(thing)

    def _note_there(self, thing: Json) -> None:
        key = key_of(thing)
        before = self.seen.pop(key, None)
        self.told[key] = thing
        if not is_odd(thing):
            self.seen[key] = thing
        elif before is not None and before["metadata"]["uid"] == thing["metadata"]["uid"]:
            self.seen[key] = before
            self.done["kept as it was"] += 1
        elif before is not None:
            self.done["recreated odd"] += 1

    def relist(self) -> None:
        """List one kind anew: what was late is in the list."""
        kind = self.rng.choice(KINDS)
        order = [deepcopy(thing) for key, thing in self.api.items() if key[0] == kind]
        self.rng.shuffle(order)
        for known in (self.told, self.seen):
            for key in [key for key in known if key[0] == kind and key not in self.api]:
                del known[key]
                self.done["gone by a list with odd ones"] += any(map(is_odd, order))
        for thing in order:
            self._note_there(thing)
        self.late[kind].clear()
        self.ingest.replace(self._listing(kind, order))
        self.done["relisted"] += 1

    def _listing(self, kind: str, things: list[Json]) -> Listing:
        versions = [(kind, int(thing["metadata"]["resourceVersion"])) for thing in things]
        return Listing(
            kind,
            self._version,
            [self.resources[at] for at in versions if at in self.resources],
            [self.undecodable[at] for at in versions if at in self.undecodable],
        )

    def repeat_an_old_event(self) -> None:
        """Tell once more what is older than what the state holds of that name."""
        kind = self.rng.choice(("Run", "Pod"))
        old = [thing for (of, version), thing in self.raw.items() if of == kind and version < self._told_version(thing)]
        if old:
            thing = self.rng.choice(old)
            version = int(thing["metadata"]["resourceVersion"])
            self.ingest.apply(self._event(EventType.MODIFIED, kind, version))
            self.done["an old event came late"] += 1
            self.done["an old event came late of an odd one"] += is_odd(self.told[key_of(thing)])

    def _told_version(self, thing: Json) -> int:
        told = self.told.get(key_of(thing))
        return 0 if told is None else int(told["metadata"]["resourceVersion"])

    def _changed(self, change: Change) -> None:
        if change.after is not None:
            self.reservations.item_seen(change.after)
        elif change.before is not None:
            self.reservations.item_gone(change.before.uid)
        for fact in change.facts:
            if fact.kind is ChangeKind.CANDIDATE_REMOVED:
                self.reservations.candidate_gone(fact.subject)

    # --- reservations ----------------------------------------------------------------------------------------------

    def hold(self) -> None:
        """Reserve room for a Pending Run on some Pod in view."""
        free = [
            item
            for item in self.state.items.values()
            if item.stage is Stage.PENDING and self.reservations.of_item(item.uid) is None and not item.terminating
        ]
        if not free or not self.state.candidates:
            return
        item = self.rng.choice(free)
        near = [one for one in self.state.candidates.values() if one.namespace == item.namespace]
        candidate = self.rng.choice(near or list(self.state.candidates.values()))
        self.reservations.hold(item, candidate, owner="me", attempt_id="", held_until=MONOTONIC, wall=NOW)
        self.done["held"] += 1

    def bind_step(self) -> None:
        """Bring a reservation one step on: sent, then written, refused, or of unknown outcome."""
        known = list(self.reservations)
        if not known:
            return
        found = self.rng.choice(known)
        match found.state:
            case State.HELD:
                self.reservations.send(found, found.item.version)
            case State.BINDING if self.rng.random() < 0.3:
                self.reservations.unknown(found, found.version)
                if self.rng.random() < 0.5:
                    self._land(found)
            case State.BINDING | State.UNCONFIRMED:
                version = self._land(found)
                if version:
                    self.reservations.succeeded(found, version)
                    self.done["bound"] += 1
                else:
                    self.reservations.drop(found, End.REFUSED)
            case State.BOUND:
                pass

    def _land(self, found: Reservation) -> int:
        """Let the write reach the API; 0 if the object is not as it was."""
        item = found.item
        known = self.api.get(("Run", item.namespace, item.name))
        if known is None or int(known["metadata"]["resourceVersion"]) != found.version:
            return 0
        thing = deepcopy(known)
        assigned = {"assignedPod": found.candidate.name, "assignedPodUID": found.candidate.uid}
        thing["status"] |= {"phase": "Scheduled"} | assigned
        return self._write(("Run", item.namespace, item.name), thing, "assignment landed")

    def drop(self) -> None:
        """Give up a hold, or let all of them expire."""
        held = [one for one in self.reservations if one.state is State.HELD]
        if held and self.rng.random() < 0.8:
            self.reservations.drop(self.rng.choice(held), End.RELEASED)
        elif held:
            self.reservations.expire(MONOTONIC + 1)

    def _ended(self, reservation: Reservation, end: End) -> None:
        self.done[f"reservation {end.value}"] += 1

    # --- the same from scratch -------------------------------------------------------------------------------------

    def rebuilt(self) -> ClusterState:
        """Build a state from what was seen, kinds and objects in another order, with the reservations that stand."""
        state = ClusterState(NOW)
        ingest = follower(state)
        for kind in self.rng.sample(KINDS, len(KINDS)):
            things = [thing for key, thing in self.seen.items() if key[0] == kind]
            self.rng.shuffle(things)
            ingest.replace(self._listing(kind, things))
        for reservation in self.reservations:
            uid = reservation.item.uid
            state.hold(state.items[uid], reservation.candidate.uid)
        return state
