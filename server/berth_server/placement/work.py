"""The work list: which key is next, and where it goes after an attempt.

It lives beside the state because it needs every event; the driver, in process or remote, only takes from it. Time comes
from the clock and is moved on by whoever waits here: heartbeats, holds, leases, backoffs and messages that fall due.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from berth_server.objects.changes import ChangeKind
from berth_server.objects.clock import SECOND
from berth_server.objects.item import Item, Stage
from berth_server.placement import answers
from berth_server.placement.answers import PendingState
from berth_server.placement.attempts import Attempt, Verdict
from berth_server.placement.core import Core
from berth_server.placement.ingest import Change
from berth_server.placement.outgoing import outgoing
from berth_server.placement.ports import KubeError
from berth_server.placement.questions import ExistingRun
from berth_server.placement.reporter import Reporter
from berth_server.placement.translate import instant
from berth_server.queue.backoff import backoff
from berth_server.queue.events import ClusterEvent
from berth_server.queue.key import PendingRow, QueueKey
from berth_server.queue.outcomes import Conflict, Error, Forget, Held, Outcome, ReservedForOther, RetryAt, Unschedulable
from berth_server.state.facts import Fact
from berth_server.state.reservations import End, Reservation, State

LEASE_SECONDS: Final = 60.0
_JUST_AFTER: Final = 0.001

_WAKEUPS: Final = {
    ChangeKind.CANDIDATE_ADDED: "runtime_pod",
    ChangeKind.CANDIDATE_AVAILABLE: "runtime_pod",
    ChangeKind.CANDIDATE_CAPACITY: "runtime_pod",
    ChangeKind.CANDIDATE_REMOVED: "runtime_pod",
    ChangeKind.CANDIDATE_UNAVAILABLE: "runtime_pod",
    ChangeKind.CAPACITY_RELEASED: "capacity_released",
}
_CAUSES: Final = {
    ChangeKind.TARGET_ADDED: "affinity_target",
    ChangeKind.TARGET_REMOVED: "anti_affine_run_gone",
    ChangeKind.WORKSPACE_CHANGED: "workspace",
}
_GIVEN_BACK: Final = {End.HANDED_OVER, End.RELEASED, End.LEASE_ENDED}
"""Ends of a reservation that are no conflict to the attempt which made it."""
_RESULTS: Final = {
    Verdict.UNSCHEDULABLE: "no_pods",
    Verdict.SELECTION_ERROR: "selection_error",
    Verdict.INVALID: "invalid",
    Verdict.CANCELLED: "cancelled",
    Verdict.CONFLICT: "conflict",
    Verdict.ERROR: "error",
}


@dataclass(frozen=True, slots=True)
class _Behind:
    """A write was refused because its version is old, and the view has no newer one. `times`: how often in a row."""

    version: int
    times: int


class Work:
    """Feeds the queue with what happens, hands keys out, and moves them when their attempt is done."""

    def __init__(self, core: Core, reporter: Reporter) -> None:
        self._core = core
        self._queue = core.queue
        self._reporter = reporter
        self._waiting: set[asyncio.Future[None]] = set()
        self._behind: dict[str, _Behind] = {}
        core.ingest.subscribe(self._changed)

    # --- events in ------------------------------------------------------------------------------------------------

    def reservation_ended(self, reservation: Reservation, end: End) -> None:
        """Activate the key of an item whose reservation ended without an assignment."""
        # Whatever it ended by, it may have been one of those that held a brake.
        self._tell()
        attempt = self._core.attempts.find(reservation.attempt_id)
        if attempt is not None and attempt.verdict is Verdict.RESERVED and end not in _GIVEN_BACK:
            attempt.verdict = Verdict.CONFLICT
        item = self._core.state.items.get(reservation.item.uid)
        if end is End.HANDED_OVER or item is None or not _ours(item):
            return
        # Its own attempt, if there is one, has it next: an activation would outrun what Done knows of the failure.
        if attempt is None or attempt.verdict not in {Verdict.CONFLICT, Verdict.ERROR}:
            self._enqueue(item)
            self._core.metrics.queue_activations["reservation_ended"].inc()

    def _changed(self, change: Change) -> None:
        before, after = change.before, change.after
        if after is not None:
            self._core.writer.seen(after.uid, after.version)
            self._core.reservations.item_seen(after)
            self._item_changed(before, after)
        elif before is not None:
            self._core.reservations.item_gone(before.uid)
            self._core.writer.seen(before.uid, 2**63)
            self._forget(before.uid)
        # Both the item and any fact may end reservations, which makes facts of its own.
        facts: Sequence[Fact] = (*change.facts, *self._core.state.take_facts())
        while facts:
            for fact in facts:
                self._happened(fact)
            facts = self._core.state.take_facts()

    def _item_changed(self, before: Item | None, after: Item) -> None:
        if not _ours(after):
            self._forget(after.uid)
            return
        behind = self._behind.get(after.uid)
        if behind is not None and after.version > behind.version:
            del self._behind[after.uid]
            self._enqueue(after)
        reset = before is not None and before.spec != after.spec
        if before is None or not _ours(before) or reset or _concerns(before) != _concerns(after):
            self._enqueue(after, reset=reset)
            self._core.metrics.queue_activations["run_eligible" if before is None else "run_changed"].inc()

    def _happened(self, fact: Fact) -> None:
        if fact.kind is ChangeKind.CANDIDATE_REMOVED:
            self._core.reservations.candidate_gone(fact.subject)
        event = ClusterEvent(fact.kind, fact.namespace, fact.runtime)
        woken = self._queue.happened(event, self._core.clock.monotonic())
        if woken:
            self._tell()
            if fact.kind in _WAKEUPS:
                self._core.metrics.pending_run_wakeups[_WAKEUPS[fact.kind]].inc(woken)
            else:
                self._core.metrics.queue_activations[_CAUSES[fact.kind]].inc(woken)

    def _enqueue(self, item: Item, *, reset: bool = False) -> None:
        key = QueueKey(item.uid, item.namespace, item.spec.runtime, 0, item.arrival)
        self._queue.add(key, self._core.clock.monotonic(), reset=reset)
        self._tell()

    def _forget(self, uid: str) -> None:
        self._behind.pop(uid, None)
        self._queue.remove(uid)
        self._reporter.forget(uid)

    # --- keys out -------------------------------------------------------------------------------------------------

    async def pop(self, *, max_items: int, wait: float) -> Sequence[answers.PoppedItem]:
        """See ports.Service."""
        deadline = self._core.clock.monotonic() + wait
        while True:
            popped = self.take(max_items)
            now = self._core.clock.monotonic()
            if popped or deadline <= now:
                return popped
            await self._news_until(min(deadline, self.next_due(), self._queue.next_due()) - now)

    def take(self, max_items: int) -> Sequence[answers.PoppedItem]:
        """Take what is next now, without waiting."""
        self.let_time_pass()
        now = self._core.clock.monotonic()
        found = []
        for popped in self._queue.pop(now, self._core.brakes.room(max_items) if self._queue.ready(now) else 0):
            item = self._core.state.items[popped.key.uid]
            attempt = self._core.attempts.start(popped.attempt, item.uid, now=now, lease=LEASE_SECONDS)
            run = ExistingRun(item.namespace, item.name, item.uid)
            found.append(answers.PoppedItem(attempt.id, run, item.attempt, attempt.lease_until))
        return found

    async def done(self, attempt_id: str) -> None:
        """See ports.Service."""
        await self._end(self._core.attempts.end(attempt_id))

    def let_time_pass(self) -> None:
        """Let everything happen that is due by now."""
        core, now = self._core, self._core.clock.monotonic()
        core.reader.let_time_pass()
        core.reservations.expire(now)
        core.ingest.tell()
        for attempt in core.attempts.overdue(now):
            core.attempts.end(attempt.id)
            self._give_back(attempt)
            self._queue.done(attempt.number, Error("the lease of the attempt ended"), now)
        self._reporter.tick()

    def next_due(self) -> float:
        """Monotonic time at which `let_time_pass` has something to do; infinity: nothing is due by itself."""
        core = self._core
        return min(
            core.reservations.next_expiry(),
            core.state.heartbeats.next_change(),
            core.attempts.next_end(),
            self._reporter.next_due(),
            core.brakes.next_probe(),
        )

    async def keep_time(self) -> None:
        """Let time pass for ever, also while nobody asks or takes anything."""
        while True:
            self.let_time_pass()
            await self._news_until(self.next_due() - self._core.clock.monotonic())

    def _tell(self) -> None:
        """There is news: wake everybody who waits for it."""
        waiting, self._waiting = self._waiting, set()
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    async def _news_until(self, seconds: float) -> None:
        """Wait for news, at most so long. What is due "just after" a moment is looked at a little later than that.

        Each waiter has a future of its own, in place before the first await: an event that one of them clears could
        lose the news of another.
        """
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.add(waiter)
        try:
            await asyncio.wait([waiter], timeout=max(seconds, 0.0) + _JUST_AFTER if seconds < inf else None)
        finally:
            self._waiting.discard(waiter)

    # --- the table that moves keys --------------------------------------------------------------------------------

    async def _end(self, attempt: Attempt) -> None:
        core = self._core
        core.metrics.sync_duration.observe(core.clock.monotonic() - attempt.started)
        if attempt.verdict in _RESULTS:
            core.metrics.sync[_RESULTS[attempt.verdict]].inc()
        if attempt.verdict is Verdict.UNSCHEDULABLE:
            core.metrics.no_pods.inc()
        # Whatever happens on the way, the key leaves its attempt.
        outcome: Outcome = Error("the attempt was not ended")
        try:
            outcome = await self._outcome(attempt)
        except Exception as error:  # a bug: this item backs off, the others go on
            core.log.exception("attempt failed by a bug", run_uid=attempt.uid)
            outcome = Error(repr(error))
        finally:
            self._move(attempt, outcome)

    def _move(self, attempt: Attempt, outcome: Outcome) -> None:
        core = self._core
        item = core.state.items.get(attempt.uid)
        if item is not None and isinstance(outcome, (Unschedulable, Held)):
            self._reporter.waits(item, outcome.message)
        self._queue.done(attempt.number, outcome, core.clock.monotonic())
        self._tell()

    async def _outcome(self, attempt: Attempt) -> Outcome:
        match attempt.verdict:
            case Verdict.BOUND:
                return self._bound(attempt)
            case Verdict.SETTLED:
                return Forget()
            case Verdict.UNSCHEDULABLE:
                return Unschedulable(attempt.reasons, attempt.message)
            case Verdict.HELD:
                return Held(attempt.reasons[0], attempt.message)
            case Verdict.RESERVED_BY_OTHER:
                return ReservedForOther()
            case Verdict.CONFLICT:
                return self._conflict(attempt)
            case Verdict.RETRY_DELAY:
                return RetryAt(attempt.until)
            case Verdict.INVALID:
                return await self._finish(attempt, "Failed", attempt.reasons[0])
            case Verdict.CANCELLED:
                return await self._finish(attempt, "Cancelled", "Cancelled")
            case Verdict.RESERVED:
                self._give_back(attempt)
                return Error("reserved, but not bound before the attempt was done")
            case Verdict.SELECTION_ERROR | Verdict.ERROR | Verdict.NOTHING:
                return Error(attempt.message, not_before=attempt.until)

    def _bound(self, attempt: Attempt) -> Outcome:
        """Forget the key, unless the item is Pending once more: the view may have passed the assignment already."""
        item = self._core.state.items.get(attempt.uid)
        again = item is not None and _ours(item) and self._core.reservations.of_item(item.uid) is None
        return Conflict() if again else Forget()

    def _conflict(self, attempt: Attempt) -> Outcome:
        """Try again at once, but not on a view that is known to be old: that would be refused again, and again."""
        item = self._core.state.items.get(attempt.uid)
        if item is None or item.version > attempt.refused:
            self._behind.pop(attempt.uid, None)
            return Conflict()
        times = self._behind[item.uid].times + 1 if item.uid in self._behind else 1
        self._behind[item.uid] = _Behind(attempt.refused, times)
        # The view's next step activates the key; the time is for a step that never comes.
        return RetryAt(self._core.clock.monotonic() + backoff(times, lambda: 0.0))

    async def _finish(self, attempt: Attempt, phase: str, reason: str) -> Outcome:
        """Write the terminal status of an item that will never be placed."""
        item = self._core.state.items.get(attempt.uid)
        if item is None or item.stage is not Stage.PENDING:
            return Forget()
        try:
            await self._core.writer.finish(outgoing(item), phase, reason, attempt.message)
        except KubeError as error:
            self._core.log.warning("terminal status not written", run_uid=item.uid, reason=str(error))
            return Error(str(error))
        return Forget()

    def _give_back(self, attempt: Attempt) -> None:
        """Drop what the attempt holds and has not bound."""
        held = self._core.reservations.of_item(attempt.uid)
        if held is not None and held.state is State.HELD and held.attempt_id == attempt.id:
            self._core.reservations.drop(held, End.LEASE_ENDED)
            self._core.ingest.tell()

    # --- looks ----------------------------------------------------------------------------------------------------

    def shown(self, row: PendingRow) -> answers.PendingItem:
        """Return a row of the queue, as it is now, in the words of an answer."""
        item, clock = self._core.state.items[row.key.uid], self._core.clock
        due = None
        if row.not_before is not None:
            due = instant(clock.wall() + round((row.not_before - clock.monotonic()) * SECOND))
        return answers.PendingItem(
            namespace=item.namespace,
            name=item.name,
            uid=item.uid,
            state=PendingState[row.state.name],
            position=row.position,
            attempts=row.attempts,
            reasons=row.reasons,
            message=row.message,
            not_before=due,
        )

    def counts(self) -> dict[str, int]:
        """Return how many keys are in each state, and how many events are kept for attempts in flight."""
        states = {state.name.lower(): count for state, count in self._queue.counts().items()}
        return {**states, "inflight_events": self._queue.inflight_events}


def _ours(item: Item) -> bool:
    """Whether the queue has to do with the item at all."""
    runtime = item.spec.runtime or (item.spec.fault is not None and item.spec.fault.path == "spec.runtime")
    return item.stage is Stage.PENDING and not item.terminating and bool(runtime)


def _concerns(item: Item) -> tuple[object, ...]:
    """What of an item, besides its spec, wakes its own key; a message that we wrote ourselves does not."""
    return item.labels, item.link, item.attempt, item.retry_from
