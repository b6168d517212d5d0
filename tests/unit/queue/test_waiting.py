"""Who waits for what, and what it costs to find out."""

from berth_server.objects.changes import ChangeKind
from berth_server.queue.events import ClusterEvent
from berth_server.queue.waiting import WaitingRoom
from tests.unit.queue.rig import CURES, FOREIGN, RELEASED, key

ADDED = ClusterEvent(ChangeKind.TARGET_ADDED, "ns", "js")


def test_finds_those_that_an_event_can_cure() -> None:
    """By kind and place; a key that several of its cures hit is found once."""
    room = WaitingRoom()
    room.add(key("full"), CURES["Full"])
    room.add(key("elsewhere", pool="ns/js"), CURES["Full"])
    room.add(key("lonely"), CURES["Lonely"])
    room.add(key("both"), CURES["Full"] | CURES["Lonely"])
    room.add(key("held"), CURES["Hopeless"])
    assert set(room.cured_by(RELEASED)) == {"full", "both"}
    assert set(room.cured_by(FOREIGN)) == {"elsewhere"}
    assert set(room.cured_by(ADDED)) == {"lonely", "both"}
    assert sorted(room.cured_by(ClusterEvent(ChangeKind.CAPACITY_RELEASED, "ns"))) == ["both", "elsewhere", "full"]
    assert len(room) == 5


def test_an_event_does_not_touch_what_it_cannot_cure() -> None:
    """The lots of others are not looked at: that they are broken shows nowhere."""
    room = WaitingRoom()
    room.add(key("full"), CURES["Full"])
    for number in range(50):
        room.add(key(f"other{number}", pool=f"ns/r{number}"), CURES["Full"])
    for lot in room._lots.values():
        if lot.key[1] != "py":
            del lot.members
    assert room.cured_by(RELEASED) == ["full"]


def test_nothing_stays_of_those_that_left() -> None:
    """Pools and namespaces come and go; the index does not remember them."""
    room = WaitingRoom()
    for number in range(100):
        room.add(key(f"u{number}", pool=f"n{number}/r"), CURES["Full"] | CURES["Lonely"])
    for number in range(100):
        room.discard(f"u{number}")
    assert (room._lots, room._index, len(room)) == ({}, {}, 0)
