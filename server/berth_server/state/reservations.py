"""Reservations: room that is taken for an item and not yet seen as assigned. A pure state machine.

    HELD ──bind──▶ BINDING ──success──▶ BOUND ──seen──▶ handed over
      │               │ │                  │
      │               │ └─unknown─▶ UNCONFIRMED ─seen─▶ handed over
      ▼               ▼                  ▼ ▼
    dropped        dropped             dropped

HELD means that no write is out, by anybody, and only HELD ends by time. From BINDING on a reservation ends when its
outcome is known, never by a clock: a watch that lags would free it too early. Nothing is persisted. `placement` alone
calls this, within one step; every end is told to the listener.
"""

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from berth_server.objects.item import Item, Stage
from berth_server.state.candidate import Candidate
from berth_server.state.cluster import ClusterState


class State(Enum):
    """Where a reservation stands."""

    HELD = "HELD"
    BINDING = "BINDING"
    UNCONFIRMED = "UNCONFIRMED"
    BOUND = "BOUND"


class End(Enum):
    """How a reservation ended."""

    HANDED_OVER = "handed_over"
    """The item is seen assigned where it was reserved: the assignment counts in its place."""
    RELEASED = "released"
    EXPIRED = "expired"
    LEASE_ENDED = "lease_ended"
    ITEM_GONE = "item_gone"
    ITEM_CHANGED = "item_changed"
    """Another attempt, terminal, assigned elsewhere, cancelled or terminating."""
    CANDIDATE_GONE = "candidate_gone"
    REJECTED = "rejected"
    """The second look found that it no longer fits."""
    REFUSED = "refused"
    """The API server refused the write: nothing was written."""
    FENCED = "fenced"
    """The write of unknown outcome can never land any more."""


@dataclass(slots=True, eq=False)
class Reservation:
    """Room for one item on one candidate. Changed by `Reservations` alone.

    `item` is as it was when reserved, judged by `profile`. `judged`: the generation of the state, this reservation in
    it, at which every filter took it. `held_until` in monotonic seconds, `created_at` in wall microseconds. `version`
    depends on the state: of the write that is out (BINDING, UNCONFIRMED), of the object that it made (BOUND). `newest`:
    what was seen of the item since the write went out.
    """

    id: str
    item: Item
    candidate: Candidate
    owner: str
    attempt_id: str
    held_until: float
    created_at: int
    profile: str = ""
    judged: int = 0
    state: State = State.HELD
    version: int = 0
    newest: Item | None = None


Ended = Callable[[Reservation, End], None]


class Reservations:
    """All reservations: at most one an item."""

    def __init__(self, state: ClusterState, ended: Ended) -> None:
        """`ended` is called after a reservation is out of the ledger."""
        self._state = state
        self._ended = ended
        self._by_id: dict[str, Reservation] = {}
        self._by_item: dict[str, Reservation] = {}

    # --- reads ----------------------------------------------------------------------------------------------------

    def get(self, reservation_id: str) -> Reservation | None:
        """Return the reservation of that id."""
        return self._by_id.get(reservation_id)

    def of_item(self, uid: str) -> Reservation | None:
        """Return the reservation of that item."""
        return self._by_item.get(uid)

    def __iter__(self) -> Iterator[Reservation]:
        """Oldest first."""
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def next_expiry(self) -> float:
        """Monotonic time of the next HELD that ends by time; infinity: none does."""
        return min((held.held_until for held in self._by_id.values() if held.state is State.HELD), default=float("inf"))

    # --- decisions ------------------------------------------------------------------------------------------------

    def hold(
        self,
        item: Item,
        candidate: Candidate,
        *,
        owner: str,
        attempt_id: str,
        held_until: float,
        wall: int,
        profile: str = "",
    ) -> Reservation:
        """Take room. The item must have none. `profile`: what judged it just now, and will before it is bound."""
        assert item.uid not in self._by_item, f"{item.uid} is reserved already"
        reservation = Reservation(secrets.token_hex(16), item, candidate, owner, attempt_id, held_until, wall, profile)
        self._by_id[reservation.id] = reservation
        self._by_item[item.uid] = reservation
        self._state.hold(item, candidate.uid)
        reservation.judged = self._state.generation
        return reservation

    def renew(self, reservation: Reservation, held_until: float) -> None:
        """Hold on for longer, never for shorter."""
        assert reservation.state is State.HELD
        reservation.held_until = max(reservation.held_until, held_until)

    def adopt(self, reservation: Reservation, attempt_id: str) -> None:
        """From now on it is that attempt's: its end, and what its write comes to, are told there."""
        reservation.attempt_id = attempt_id

    def drop(self, reservation: Reservation, end: End) -> None:
        """Give the room back. From BINDING on only what settled the write may say so."""
        if self._by_id.pop(reservation.id, None) is None:
            return
        del self._by_item[reservation.item.uid]
        self._state.unhold(reservation.item.uid)
        self._ended(reservation, end)

    def expire(self, monotonic: float) -> None:
        """End what is held for too long."""
        due = [held for held in self._by_id.values() if held.state is State.HELD and held.held_until < monotonic]
        for reservation in due:
            self.drop(reservation, End.EXPIRED)

    # --- the write ------------------------------------------------------------------------------------------------

    def send(self, reservation: Reservation, version: int) -> None:
        """The one write goes out, carrying `version`."""
        assert reservation.state is State.HELD
        reservation.state = State.BINDING
        reservation.version = version

    def succeeded(self, reservation: Reservation, version: int) -> None:
        """The write was seen to succeed, or the assignment was found, at `version`."""
        if reservation.id not in self._by_id:
            return
        assert reservation.state in {State.BINDING, State.UNCONFIRMED}
        reservation.state = State.BOUND
        reservation.version = version
        self._apply_newest(reservation)

    def unknown(self, reservation: Reservation, version: int) -> None:
        """The write, which carried `version`, may have landed, now or later."""
        if reservation.id not in self._by_id:
            return
        assert reservation.state is State.BINDING
        reservation.state = State.UNCONFIRMED
        reservation.version = version
        self._apply_newest(reservation)

    # --- observations ---------------------------------------------------------------------------------------------

    def item_seen(self, item: Item) -> None:
        """The item was observed; the state has it already."""
        reservation = self._by_item.get(item.uid)
        if reservation is None:
            return
        if reservation.state is State.HELD:
            if not _still_ours(reservation, item):
                self.drop(reservation, End.ITEM_CHANGED)
            return
        if reservation.newest is None or item.version >= reservation.newest.version:
            reservation.newest = item
        self._apply_newest(reservation)

    def item_gone(self, uid: str) -> None:
        """The item was deleted: a write that is out names a dead version."""
        reservation = self._by_item.get(uid)
        if reservation is not None:
            self.drop(reservation, End.ITEM_GONE)

    def candidate_gone(self, uid: str) -> None:
        """The candidate left, for good or for another UID: what is only held there ends."""
        lost = [held for held in self._by_id.values() if held.candidate.uid == uid and held.state is State.HELD]
        for reservation in lost:
            self.drop(reservation, End.CANDIDATE_GONE)

    def _apply_newest(self, reservation: Reservation) -> None:
        """Settle by what was seen, if that is new enough to tell. In BINDING nothing is: the answer comes first."""
        seen = reservation.newest
        if seen is None or reservation.state is State.BINDING:
            return
        # The version that was bound tells as soon as it is seen; of an unknown write only a later version does.
        telling = reservation.version if reservation.state is State.BOUND else reservation.version + 1
        if seen.version >= telling:
            there = self._state.occupancy.assigned_to(seen) == reservation.candidate.uid
            self.drop(reservation, End.HANDED_OVER if there else End.ITEM_CHANGED)


def _still_ours(reservation: Reservation, item: Item) -> bool:
    return (
        item.stage is Stage.PENDING
        and not item.terminating
        and not item.spec.cancel_requested
        and item.attempt == reservation.item.attempt
    )
