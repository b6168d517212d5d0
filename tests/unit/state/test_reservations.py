"""Reservations: every state times every event, and no instant at which room counts twice or not at all."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from berth_server.objects.item import Item
from berth_server.state.reservations import End, Reservation, Reservations, State
from tests.builders import MONOTONIC, NOW, candidate, item, see, state_of

SENT, BOUND_AT = 10, 12
HELD_UNTIL = MONOTONIC + 30
STAYS, REFUSED = "stays", "refused"


class Desk:
    """A state with two candidates, a Pending item a, and its reservations; remembers how they ended."""

    def __init__(self) -> None:
        self.state = state_of(candidate("p1"), candidate("p2"), item(version=SENT))
        self.ends: list[End] = []
        self.use_at_end: list[int] = []
        self.reservations = Reservations(self.state, self._ended)

    def _ended(self, reservation: Reservation, end: End) -> None:
        self.ends.append(end)
        self.use_at_end.append(self.use)

    def hold(self, state: State = State.HELD) -> Reservation:
        """Reserve p1 for a, and bring the reservation into a state."""
        held = self.reservations.hold(
            self.state.items["ns/a"],
            self.state.candidates["ns/p1"],
            owner="me",
            attempt_id="t",
            held_until=HELD_UNTIL,
            wall=NOW,
        )
        if state is not State.HELD:
            self.reservations.send(held, SENT)
        if state is State.UNCONFIRMED:
            self.reservations.unknown(held, SENT)
        if state is State.BOUND:
            self.reservations.succeeded(held, BOUND_AT)
        return held

    def observe(self, seen: Item) -> None:
        """Observe the item, as ingest and its subscriber do."""
        see(self.state, seen)
        self.reservations.item_seen(seen)

    @property
    def use(self) -> int:
        """What is taken of p1."""
        return self.state.occupancy.ledger.use("ns/p1").get("runs", 0)


Event = Callable[[Desk, Reservation], None]


def seen(version: int, **fields: Any) -> Event:
    """Observe the item at a version."""
    return lambda desk, _: desk.observe(item(version=version, **fields))


def gone(desk: Desk, _: Reservation) -> None:
    """Delete the item."""
    desk.state.remove_item("ns/a")
    desk.reservations.item_gone("ns/a")


def candidate_gone(desk: Desk, _: Reservation) -> None:
    """Delete the candidate."""
    desk.state.remove_candidate("ns/p1")
    desk.reservations.candidate_gone("ns/p1")


def other_candidate_gone(desk: Desk, _: Reservation) -> None:
    """Delete another candidate."""
    desk.reservations.candidate_gone("ns/p2")


def expires(desk: Desk, _: Reservation) -> None:
    """Let the hold end."""
    desk.reservations.expire(HELD_UNTIL + 0.001)


def at_its_end(desk: Desk, _: Reservation) -> None:
    """Look at the hold at its last moment."""
    desk.reservations.expire(HELD_UNTIL)


def send(desk: Desk, held: Reservation) -> None:
    """Send the write."""
    desk.reservations.send(held, SENT)


def succeeds(desk: Desk, held: Reservation) -> None:
    """See the write succeed."""
    desk.reservations.succeeded(held, BOUND_AT)


def unknown(desk: Desk, held: Reservation) -> None:
    """Lose the answer to the write."""
    desk.reservations.unknown(held, SENT)


def renew(desk: Desk, held: Reservation) -> None:
    """Ask to hold on."""
    desk.reservations.renew(held, HELD_UNTIL + 5)


CHANGED, HANDED = End.ITEM_CHANGED, End.HANDED_OVER
TABLE: dict[str, tuple[Event, tuple[object, object, object, object]]] = {
    # event: what it does to HELD, BINDING, UNCONFIRMED (sent 10), BOUND (at 12)
    "seen as it was sent": (seen(10), (STAYS, STAYS, STAYS, STAYS)),
    "seen pending, later than sent": (seen(11), (STAYS, STAYS, CHANGED, STAYS)),
    "seen pending, later than bound": (seen(13), (STAYS, STAYS, CHANGED, CHANGED)),
    "seen assigned here, as bound": (seen(12, on="p1"), (CHANGED, STAYS, HANDED, HANDED)),
    "seen assigned here, later": (seen(15, on="p1"), (CHANGED, STAYS, HANDED, HANDED)),
    "seen assigned here, before bound": (seen(11, on="p1"), (CHANGED, STAYS, HANDED, STAYS)),
    "seen assigned here by name": (seen(12, on="p1", on_uid=""), (CHANGED, STAYS, HANDED, HANDED)),
    "seen assigned to an earlier p1": (seen(12, on="p1", on_uid="old"), (CHANGED, STAYS, CHANGED, CHANGED)),
    "seen assigned elsewhere": (seen(12, on="p2"), (CHANGED, STAYS, CHANGED, CHANGED)),
    "seen terminal": (seen(13, on="p1", phase="Succeeded"), (CHANGED, STAYS, CHANGED, CHANGED)),
    "seen in an unknown phase here": (seen(13, on="p1", phase="Odd"), (CHANGED, STAYS, HANDED, HANDED)),
    "seen cancelled": (seen(11, cancelRequested=True), (CHANGED, STAYS, CHANGED, STAYS)),
    "seen terminating": (seen(11, terminating=True), (CHANGED, STAYS, CHANGED, STAYS)),
    "seen in another attempt": (seen(11, attempt=2), (CHANGED, STAYS, CHANGED, STAYS)),
    "the item is gone": (gone, (End.ITEM_GONE,) * 4),
    "the candidate is gone": (candidate_gone, (End.CANDIDATE_GONE, STAYS, STAYS, STAYS)),
    "another candidate is gone": (other_candidate_gone, (STAYS,) * 4),
    "its time is over": (expires, (End.EXPIRED, STAYS, STAYS, STAYS)),
    "its last moment": (at_its_end, (STAYS,) * 4),
    "renewed": (renew, (STAYS, REFUSED, REFUSED, REFUSED)),
    "sent": (send, (State.BINDING, REFUSED, REFUSED, REFUSED)),
    "succeeded": (succeeds, (REFUSED, State.BOUND, State.BOUND, REFUSED)),
    "unknown": (unknown, (REFUSED, State.UNCONFIRMED, REFUSED, REFUSED)),
}


@pytest.mark.parametrize(
    ("state", "event", "want"),
    [
        pytest.param(state, event, want, id=f"{state.value} {name}")
        for name, (event, wants) in TABLE.items()
        for state, want in zip(State, wants, strict=True)
    ],
)
def test_every_state_times_every_event(state: State, event: Event, want: object) -> None:
    """An event ends a reservation, moves it, leaves it, or must not happen in that state."""
    desk = Desk()
    held = desk.hold(state)
    if want == REFUSED:
        with pytest.raises(AssertionError):
            event(desk, held)
        assert held.state is state
        return
    event(desk, held)
    assert desk.ends == ([want] if isinstance(want, End) else [])
    assert (desk.reservations.get(held.id) is None) is isinstance(want, End)
    assert held.state is (want if isinstance(want, State) else state)
    assert ("ns/a" in desk.state.holds) is not isinstance(want, End)


@pytest.mark.parametrize(
    ("observations", "then", "want"),
    [
        pytest.param([item(version=12, on="p1")], succeeds, HANDED, id="the echo comes before the answer"),
        pytest.param([item(version=12, on="p1")], unknown, HANDED, id="the echo comes, the answer never does"),
        pytest.param([item(version=11)], succeeds, State.BOUND, id="another's write was seen before ours landed"),
        pytest.param([item(version=11)], unknown, CHANGED, id="a later version without the assignment"),
        pytest.param([item(version=10)], unknown, State.UNCONFIRMED, id="what was sent tells nothing"),
        pytest.param(
            [item(version=12, on="p1"), item(version=15, on="p1", phase="Failed")],
            succeeds,
            CHANGED,
            id="assigned and over before the answer",
        ),
        pytest.param(
            [item(version=12, on="p1"), item(version=11)], succeeds, HANDED, id="an older one does not replace it"
        ),
    ],
)
def test_observations_while_binding_are_remembered(observations: list[Item], then: Event, want: object) -> None:
    """No second echo comes: the newest one held is applied as soon as the write's outcome is known."""
    desk = Desk()
    held = desk.hold(State.BINDING)
    for one in observations:
        desk.reservations.item_seen(one)
    assert desk.ends == []
    then(desk, held)
    assert desk.ends == ([want] if isinstance(want, End) else [])
    assert want in (held.state, *desk.ends)


@pytest.mark.parametrize("state", [pytest.param(state, id=state.value) for state in State if state is not State.HELD])
def test_room_counts_once_at_every_instant(state: State) -> None:
    """From the hold to the hand-over one run is taken, neither none nor two."""
    desk = Desk()
    uses = [desk.use]
    held = desk.hold(state)
    uses.append(desk.use)
    desk.observe(item(version=BOUND_AT, on="p1"))
    uses.append(desk.use)
    if state is State.BINDING:
        desk.reservations.succeeded(held, BOUND_AT)
        uses.append(desk.use)
    assert (uses[0], set(uses[1:])) == (0, {1})
    assert desk.ends == [HANDED]
    assert desk.use_at_end == [1], "the listener must find the assignment in the ledger already"


@pytest.mark.parametrize("end", [pytest.param(end, id=end.value) for end in (End.RELEASED, End.REFUSED, End.FENCED)])
def test_a_drop_frees_the_room_before_it_is_told(end: End) -> None:
    """Whoever hears of the end can plan with the room."""
    desk = Desk()
    held = desk.hold()
    desk.reservations.drop(held, end)
    desk.reservations.drop(held, end)
    assert (desk.ends, desk.use_at_end, desk.use) == ([end], [0], 0)
    assert len(desk.reservations) == 0


@pytest.mark.parametrize("late", [pytest.param(succeeds, id="success"), pytest.param(unknown, id="no answer")])
def test_the_answer_to_a_dead_write_changes_nothing(late: Event) -> None:
    """The item was deleted while its write was out: what the write says then frees nothing twice."""
    desk = Desk()
    held = desk.hold(State.BINDING)
    gone(desk, held)
    late(desk, held)
    assert desk.ends == [End.ITEM_GONE]
    assert desk.use == 0
    assert len(desk.reservations) == 0


def test_an_unknown_write_is_told_by_what_it_carried() -> None:
    """The writer may have sent a newer version than the reservation knew: up to that one the view tells nothing."""
    desk = Desk()
    held = desk.hold(State.BINDING)
    desk.reservations.unknown(held, 14)
    desk.observe(item(version=14))
    assert held.state is State.UNCONFIRMED
    desk.observe(item(version=15, on="p1"))
    assert desk.ends == [HANDED]


def test_an_item_has_one_reservation() -> None:
    """A second one would be counted, and lost, separately."""
    desk = Desk()
    held = desk.hold()
    with pytest.raises(AssertionError, match="reserved already"):
        desk.hold()
    assert list(desk.reservations) == [held]


def test_reads() -> None:
    """Found by id and by item; what is not there is None."""
    desk = Desk()
    held = desk.hold()
    assert desk.reservations.get(held.id) is desk.reservations.of_item("ns/a") is held
    assert desk.reservations.get("x") is None
    assert desk.reservations.of_item("ns/b") is None


def test_renewal_never_shortens() -> None:
    """The later of the two ends counts."""
    desk = Desk()
    held = desk.hold()
    desk.reservations.renew(held, HELD_UNTIL - 10)
    assert desk.reservations.next_expiry() == HELD_UNTIL
    desk.reservations.renew(held, HELD_UNTIL + 10)
    assert desk.reservations.next_expiry() == HELD_UNTIL + 10
    expires(desk, held)
    assert desk.ends == []


def test_only_what_is_held_expires() -> None:
    """The next expiry is that of the earliest HELD; a write that is out has none."""
    desk = Desk()
    see(desk.state, item("b"))
    assert desk.reservations.next_expiry() == math.inf
    held = desk.hold()
    later = desk.reservations.hold(
        desk.state.items["ns/b"],
        desk.state.candidates["ns/p1"],
        owner="me",
        attempt_id="",
        held_until=HELD_UNTIL + 1,
        wall=NOW,
    )
    assert desk.reservations.next_expiry() == HELD_UNTIL
    desk.reservations.send(held, SENT)
    assert desk.reservations.next_expiry() == HELD_UNTIL + 1
    desk.reservations.drop(later, End.RELEASED)
    assert desk.reservations.next_expiry() == math.inf


def test_observations_of_others_are_nobodys_business() -> None:
    """An item without a reservation, and one that is gone without one, change nothing."""
    desk = Desk()
    desk.hold()
    desk.observe(item("b", on="p2"))
    desk.reservations.item_gone("ns/b")
    assert desk.ends == []
    assert len(desk.reservations) == 1
