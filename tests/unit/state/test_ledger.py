"""The ledger: exact sums by candidate UID, and nothing left behind."""

from fractions import Fraction
from random import Random

from berth_server.state.ledger import Ledger

HUGE = 2**63 - 1


def test_counts_what_every_item_takes() -> None:
    """The use of a candidate is the sum over its items, resource by resource."""
    ledger = Ledger()
    ledger.charge("p", "a", (("gpu", 1), ("runs", 2)))
    ledger.charge("p", "b", (("runs", 3),))
    ledger.charge("q", "c", (("runs", 5),))
    assert dict(ledger.use("p")) == {"gpu": 1, "runs": 5}
    assert dict(ledger.use("q")) == {"runs": 5}
    assert len(ledger) == 3
    assert sorted(ledger.candidates()) == ["p", "q"]


def test_a_second_charge_replaces_the_first() -> None:
    """An item counts on one candidate once, with what it asked for last."""
    ledger = Ledger()
    ledger.charge("p", "a", (("gpu", 1), ("runs", 2)))
    ledger.charge("p", "a", (("runs", 1),))
    assert dict(ledger.use("p")) == {"runs": 1}
    assert ledger.own("p", "a") == (("runs", 1),)
    assert len(ledger) == 1


def test_discharging_what_was_never_charged_changes_nothing() -> None:
    """A second release frees nothing twice."""
    ledger = Ledger()
    ledger.charge("p", "a", (("runs", 1),))
    ledger.discharge("p", "b")
    ledger.discharge("q", "a")
    ledger.discharge("p", "a")
    ledger.discharge("p", "a")
    assert dict(ledger.use("p")) == {}
    assert list(ledger.candidates()) == []
    assert len(ledger) == 0


def test_leaves_one_item_out() -> None:
    """What all others take: of an item that takes nothing it is all that is taken."""
    ledger = Ledger()
    ledger.charge("p", "a", (("gpu", 1), ("runs", 2)))
    ledger.charge("p", "b", (("runs", 3),))
    assert dict(ledger.use_without("p", "a")) == {"gpu": 0, "runs": 3}
    assert dict(ledger.use_without("p", "z")) == {"gpu": 1, "runs": 5}
    assert dict(ledger.use_without("q", "a")) == {}
    assert dict(ledger.use("p")) == {"gpu": 1, "runs": 5}, "a read has changed the sums"


def test_sums_do_not_wrap() -> None:
    """Sums beyond 64 bits stay exact, and come back down exactly."""
    ledger = Ledger()
    for item in range(5):
        ledger.charge("p", str(item), (("mem", HUGE),))
    assert ledger.use("p")["mem"] == 5 * HUGE
    for item in range(4):
        ledger.discharge("p", str(item))
    assert ledger.use("p")["mem"] == HUGE


def test_random_churn_agrees_with_a_recount(seed: int) -> None:
    """After any series of charges and discharges the sums are those of the charges that stand."""
    rng = Random(seed)
    ledger = Ledger()
    stand: dict[tuple[str, str], tuple[tuple[str, int], ...]] = {}
    for _ in range(2000):
        key = (rng.choice("pqr"), rng.choice("abcdef"))
        if rng.random() < 0.5:
            stand[key] = tuple(
                sorted((name, rng.randrange(1, 9)) for name in rng.sample(("gpu", "mem", "runs"), rng.randrange(4)))
            )
            ledger.charge(*key, stand[key])
        else:
            stand.pop(key, None)
            ledger.discharge(*key)
        want: dict[str, Fraction] = {}
        for (candidate, _), requests in stand.items():
            if candidate == key[0]:
                for name, amount in requests:
                    want[name] = want.get(name, Fraction(0)) + amount
        assert dict(ledger.use(key[0])) == want
    assert len(ledger) == len(stand)
