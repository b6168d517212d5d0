"""Events in: the one way by which observations of the cluster reach the state.

A listing replaces what is known of a kind, a watch event changes it; an object older than the one held is ignored. Of
what can't be decoded the last good version stays, while its UID is there. No decision is made here. Whoever wants to
know what changed subscribes: facts about the state, and each item before and after. One task per kind follows its
stream; applying an event is synchronous.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from berth_server.objects.clock import Clock
from berth_server.objects.decode import Undecodable
from berth_server.objects.item import Item
from berth_server.objects.resources import Identity, PersistentWorkspace, Pod, Resource, Run
from berth_server.placement.ports import EventType, GoneError, KubeError, Listing, Store, WatchEvent
from berth_server.placement.translate import candidate_of, item_of, workspace_of
from berth_server.state.cluster import ClusterState, Named
from berth_server.state.facts import Fact

KINDS: Final = ("Node", "Pod", "PersistentWorkspace", "Run")
"""In the order in which they are listed first; any order gives the same state."""


class Log(Protocol):
    """Where lines for people go."""

    def warning(self, event: str, **values: Any) -> None:
        """Write one line about what passes or can be mended."""
        ...

    def exception(self, event: str, **values: Any) -> None:
        """Write one line about a bug, with the exception that is being handled."""
        ...


RELIST_PAUSE_SECONDS: Final = 1.0


@dataclass(slots=True)
class KindView:
    """How far the view of one kind is.

    `unlisted`: what was held and no page of a listing has named so far. `held`: (namespace, name) -> (uid, version) of
    the newest that was seen of what is there. `odd`: those of them that
    can't be decoded at that version; the state has their last good one, or nothing. `nameless`: how many were seen, in
    the last list and since, of which not even the identity can be read.
    """

    version: int = 0
    listed: bool = False
    unlisted: dict[Named, tuple[str, int]] = field(default_factory=dict)
    held: dict[Named, tuple[str, int]] = field(default_factory=dict)
    odd: set[Named] = field(default_factory=set)
    nameless: int = 0

    def shows(self, found: Resource | Undecodable) -> bool:
        """Whether the state has this very version: most of what is listed again."""
        if found.metadata is None:
            return False
        key = _key(found.metadata)
        return self.held.get(key) == (found.metadata.uid, found.metadata.version) and key not in self.odd

    @property
    def undecodable(self) -> int:
        """How many objects can't be decoded now."""
        return len(self.odd) + self.nameless


@dataclass(frozen=True, slots=True)
class Change:
    """What one observation changed: an item before and after (None: it was not, or is not, there), and facts."""

    before: Item | None
    after: Item | None
    facts: tuple[Fact, ...]


Subscriber = Callable[[Change], None]


class Ingest:
    """Keeps a `ClusterState` in step with a `Store`. Belongs to one event loop."""

    def __init__(self, store: Store, state: ClusterState, clock: Clock, log: Log) -> None:
        self.state = state
        self.views: dict[str, KindView] = {kind: KindView() for kind in KINDS}
        self._store = store
        self._clock = clock
        self._log = log
        self._subscribers: list[Subscriber] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._moved = asyncio.Event()

    # --- following the store --------------------------------------------------------------------------------------

    async def start(self) -> None:
        """List every kind, and follow each from then on. Returns once the state is complete."""
        for kind in KINDS:
            await self.relist(kind)
            self._tasks.append(asyncio.create_task(self._follow(kind), name=f"ingest {kind}"))

    async def follow(self) -> None:
        """Wait while the kinds are followed. Raises what ended one of them: a bug, after which the state is unsure."""
        await asyncio.gather(*self._tasks)

    async def stop(self) -> None:
        """Stop following."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def wait_for(self, kind: str, version: int, deadline: float) -> bool:
        """Wait until the view of `kind` is at `version`; False if monotonic time `deadline` comes first."""
        while self.views[kind].version < version:
            left = deadline - self._clock.monotonic()
            if left <= 0:
                return False
            self._moved.clear()
            # Not wait_for: before Python 3.12 it swallows a cancellation that comes together with the move.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._moved.wait()
        return True

    @property
    def synced(self) -> bool:
        """Whether every kind was listed."""
        return all(view.listed for view in self.views.values())

    def age(self, kind: str) -> float:
        """Return how many seconds ago the view of `kind` was last known to be complete."""
        return self._store.age(kind)

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call `subscriber` with every change, in the step that makes it."""
        self._subscribers.append(subscriber)

    async def _follow(self, kind: str) -> None:
        gone = False
        while True:
            try:
                if gone:
                    gone = await self.relist(kind) < self.views[kind].version
                if gone:
                    # An API server that lags has a list too old to be taken: its next watch would be refused as well.
                    await asyncio.sleep(RELIST_PAUSE_SECONDS)
                    continue
                async for event in self._store.watch(kind, self.views[kind].version):
                    self.apply(event)
            except GoneError:
                gone = True
            except KubeError as error:
                self._log.warning("watch ended", kind=kind, reason=str(error))
                await asyncio.sleep(RELIST_PAUSE_SECONDS)

    async def relist(self, kind: str) -> int:
        """List a kind and return the version of the list. Nobody else may do so at the same time."""
        version = 0
        async for page in self._store.list(kind):
            # A page is short work, and a list of everything is not: the rest of the loop goes on in between.
            await asyncio.sleep(0)
            self.replace(page)
            await asyncio.sleep(0)
            version = page.version
        return version

    # --- observations ---------------------------------------------------------------------------------------------

    def replace(self, page: Listing) -> None:
        """Take a page of a listing. With its last one, that is all that there is of its kind."""
        view = self.views[page.kind]
        if view.listed and page.version < view.version:
            # A lagging API server must not free capacity.
            return
        if page.first:
            view.unlisted = view.held.copy()
            view.nameless = 0
        for found in (*page.resources, *page.undecodable):
            if found.metadata is not None:
                view.unlisted.pop(_key(found.metadata), None)
            if not view.shows(found):
                self._take(page.kind, found)
        if page.last:
            self._conclude(page)

    def _conclude(self, page: Listing) -> None:
        view = self.views[page.kind]
        if not view.nameless:
            # One that can't be told from what is not listed may be any of it: then nothing is concluded to be gone.
            for key in view.unlisted:
                self._drop(page.kind, key)
        view.unlisted = {}
        view.listed = True
        self._advance_to(page.kind, page.version)

    def apply(self, event: WatchEvent) -> None:
        """Take one event of a watch."""
        found = event.resource or event.undecodable
        if found is not None:
            if event.type is EventType.DELETED and found.metadata is not None:
                self._delete(event.kind, found.metadata)
            else:
                self._take(event.kind, found)
        self._advance_to(event.kind, event.version)

    def tell(self) -> None:
        """Pass on the facts that came about without an observation: time moved on, a reservation ended."""
        self._publish(None, None)

    def _take(self, kind: str, found: Resource | Undecodable) -> None:
        view, metadata = self.views[kind], found.metadata
        fault = found.fault if isinstance(found, Undecodable) else ""
        if metadata is None:
            view.nameless += 1
            self._warn(kind, fault, "which one it is neither, so a list that has it frees nothing")
            return
        key = _key(metadata)
        uid, version = view.held.get(key, ("", 0))
        if metadata.version < version:
            # Whatever its UID: versions of one kind are one sequence, so it was before the one that is held. The one
            # that is held need not be decodable: the view never goes back behind what was seen.
            return
        if uid and uid != metadata.uid:
            # Deleted and created again while nobody looked: the watch may show it as one modification.
            self._drop(kind, key)
        view.held[key] = (metadata.uid, metadata.version)
        if not isinstance(found, Undecodable):
            view.odd.discard(key)
            self._put(found)
        elif key not in view.odd:
            # Said once, and not with every heartbeat.
            view.odd.add(key)
            self._warn(kind, fault, "its last good version stays" if uid == metadata.uid else "it is not in view")

    def _put(self, resource: Resource) -> None:
        metadata, version = resource.metadata, resource.metadata.version
        monotonic, wall = self._clock.monotonic(), self._clock.wall()
        if isinstance(resource, Run):
            before = self.state.items.get(metadata.uid)
            after = item_of(resource, version=version, monotonic=monotonic, before=before)
            self.state.put_item(after)
            self._publish(before, after)
            return
        if isinstance(resource, Pod):
            candidate = candidate_of(resource, version=version)
            if candidate is not None:
                self.state.put_candidate(candidate, monotonic=monotonic, wall=wall)
            else:
                self.state.remove_candidate(metadata.uid)
        elif isinstance(resource, PersistentWorkspace):
            self.state.put_workspace(workspace_of(resource, version=version))
        self._publish(None, None)

    def _delete(self, kind: str, metadata: Identity) -> None:
        key = _key(metadata)
        known = self.views[kind].held.get(key)
        # If one that came later was deleted, the one that is held was deleted before it came.
        if known is not None and (known[0] == metadata.uid or known[1] < metadata.version):
            self._drop(kind, key)

    def _drop(self, kind: str, key: Named) -> None:
        uid, _ = self.views[kind].held.pop(key)
        self.views[kind].odd.discard(key)
        before = None
        if kind == "Run":
            before = self.state.items.get(uid)
            self.state.remove_item(uid)
        elif kind == "Pod":
            self.state.remove_candidate(uid)
        elif kind == "PersistentWorkspace":
            self.state.remove_workspace(*key)
        self._publish(before, None)

    def _publish(self, before: Item | None, after: Item | None) -> None:
        facts = self.state.take_facts()
        if before is not None or after is not None or facts:
            change = Change(before, after, tuple(facts))
            for subscriber in self._subscribers:
                subscriber(change)

    def _warn(self, kind: str, fault: str, outcome: str) -> None:
        self._log.warning(f"object can't be decoded; {outcome}", kind=kind, reason=fault)

    def _advance_to(self, kind: str, version: int) -> None:
        view = self.views[kind]
        view.version = max(view.version, version)
        self._moved.set()


def _key(metadata: Identity) -> Named:
    return metadata.namespace, metadata.name
