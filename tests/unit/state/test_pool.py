"""Columns of a pool: laid out in name order, written in place, read-only, and logged."""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from berth_server.objects.quantity import MAX_UNITS
from berth_server.state.candidate import Availability, PoolKey
from berth_server.state.pool import _LOG_BOUND, NOT_ADVERTISED, Pool
from tests.builders import candidate

UP, DOWN = Availability.AVAILABLE, Availability.NOT_READY
KEY = PoolKey("ns", "py")


def pool_of(*names: str) -> Pool:
    """Build a pool of equal, empty candidates."""
    pool = Pool(KEY)
    for name in names:
        pool.put(candidate(name), UP, {})
    return pool


def shown(pool: Pool) -> dict[str, tuple[int, dict[str, tuple[int, int]]]]:
    """Give, by name, availability and (capacity, used) of what the candidate advertises."""
    columns = pool.columns()
    return {
        name: (
            int(columns.availability[row]),
            {
                resource: (int(columns.capacity[index, row]), int(columns.used[index, row]))
                for resource, index in columns.resources.items()
                if columns.capacity[index, row] != NOT_ADVERTISED
            },
        )
        for row, name in enumerate(columns.names)
    }


# --- layout --------------------------------------------------------------------------------------------------------


def test_rows_stand_in_name_order() -> None:
    """Whatever the order of arrival, the first row is the first name; UIDs and indexes go with it."""
    columns = pool_of("p10", "p2", "a").columns()
    assert columns.names == ("a", "p10", "p2")
    assert columns.uids == ("ns/a", "ns/p10", "ns/p2")
    assert columns.row_of_name == {"a": 0, "p10": 1, "p2": 2}
    assert columns.row_of_uid == {"ns/a": 0, "ns/p10": 1, "ns/p2": 2}
    assert len(columns) == 3


def test_an_empty_pool_has_columns_without_rows() -> None:
    """No candidate: no rows, no resources, and right shapes."""
    columns = Pool(KEY).columns()
    assert (len(columns), columns.capacity.shape, columns.used.shape) == (0, (0, 0), (0, 0))
    assert not Pool(KEY)


def test_only_what_somebody_advertises_has_a_column() -> None:
    """Use of a resource that nobody advertises is not shown; where one candidate does not, it says so."""
    pool = Pool(KEY)
    pool.put(candidate("a", capacity={"gpu": 4}), UP, {"gpu": 1, "ghost": 7})
    pool.put(candidate("b"), DOWN, {"gpu": 3, "runs": 2})
    columns = pool.columns()
    assert list(columns.resources) == ["gpu", "runs"]
    assert columns.capacity.tolist() == [[4, NOT_ADVERTISED], [2, 2]]
    assert columns.used.tolist() == [[1, 3], [0, 2]]
    assert columns.availability.tolist() == [UP, DOWN]


def test_a_candidate_with_invalid_capacity_advertises_nothing() -> None:
    """Its row stays, without any resource."""
    pool = Pool(KEY)
    pool.put(candidate("a", invalid=True), Availability.INVALID_CAPACITY, {"runs": 1})
    assert shown(pool) == {"a": (Availability.INVALID_CAPACITY, {})}


@pytest.mark.parametrize(
    ("capacity", "use", "want"),
    [
        pytest.param(MAX_UNITS, MAX_UNITS, (MAX_UNITS, MAX_UNITS), id="2^62 itself"),
        pytest.param(MAX_UNITS + 1, MAX_UNITS + 1, (MAX_UNITS, MAX_UNITS), id="just beyond"),
        pytest.param(2**63 - 1, 5 * 2**63, (MAX_UNITS, MAX_UNITS), id="beyond int64"),
        pytest.param(0, 0, (0, 0), id="drained"),
    ],
)
def test_capacity_and_use_are_clamped(capacity: int, use: int, want: tuple[int, int]) -> None:
    """Both count as at most 2^62, at the first layout and when written in place."""
    pool = Pool(KEY)
    pool.put(candidate("a", capacity={"mem": capacity}), UP, {"mem": use})
    assert shown(pool)["a"][1]["mem"] == want
    pool.put(candidate("a", capacity={"mem": 5}), UP, {})
    pool.put(candidate("a", capacity={"mem": capacity}), UP, {"mem": use})
    assert shown(pool)["a"][1]["mem"] == want


# --- changes -------------------------------------------------------------------------------------------------------


def test_values_change_in_place() -> None:
    """The same arrays show new use, availability and capacity; the layout stays the same object."""
    pool = pool_of("a", "b")
    columns = pool.columns()
    pool.show_use("b", {"runs": 2})
    pool.show_availability("a", DOWN)
    pool.put(candidate("b", capacity={"runs": 7}), UP, {"runs": 2})
    assert pool.columns() is columns
    assert shown(pool) == {"a": (DOWN, {"runs": (2, 0)}), "b": (UP, {"runs": (7, 2)})}


def test_what_is_given_is_copied() -> None:
    """The ledger's live sums may change without a word; the pool shows what it was last told."""
    pool = Pool(KEY)
    use = {"runs": 1}
    pool.put(candidate("a"), UP, use)
    use["runs"] = 2
    assert shown(pool)["a"][1]["runs"] == (2, 1)


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in ("availability", "capacity", "used")])
def test_columns_are_read_only(name: str) -> None:
    """Nobody can write to the state through what it shows."""
    array = getattr(pool_of("a").columns(), name)
    with pytest.raises(ValueError, match="read-only"):
        array[...] = 0


def _same(pool: Pool) -> None:
    pool.put(candidate("b", version=9), UP, {})


def _use(pool: Pool) -> None:
    pool.show_use("b", {"runs": 1})


def _capacity(pool: Pool) -> None:
    pool.put(candidate("b", capacity={"runs": 9}), UP, {})


def _resource(pool: Pool) -> None:
    pool.put(candidate("b", capacity={"gpu": 1}), UP, {})


def _add(pool: Pool) -> None:
    pool.put(candidate("c"), UP, {})


def _leave(pool: Pool) -> None:
    pool.remove("b")


def _leave_and_return(pool: Pool) -> None:
    pool.remove("b")
    pool.put(candidate("b"), UP, {})


def _recreate(pool: Pool) -> None:
    pool.put(candidate("b", uid="another"), UP, {})


@pytest.mark.parametrize(
    ("change", "want_epoch", "want_layout", "want_capacity"),
    [
        pytest.param(_same, False, False, False, id="an observation that changes nothing"),
        pytest.param(_use, False, False, False, id="use"),
        pytest.param(_capacity, False, False, True, id="capacity"),
        pytest.param(_resource, False, True, True, id="a resource that is new to the pool"),
        pytest.param(_add, True, True, True, id="a row comes"),
        pytest.param(_leave, True, True, True, id="a row goes"),
        pytest.param(_recreate, True, True, True, id="a row is another one"),
        pytest.param(_leave_and_return, False, True, True, id="a row goes and comes between two looks"),
    ],
)
def test_epochs(change: Callable[[Pool], None], *, want_epoch: bool, want_layout: bool, want_capacity: bool) -> None:
    """The epoch changes when rows come, go or change identity; what is derived lives as long as the capacities."""
    pool = pool_of("a", "b")
    before, capacity = pool.columns(), pool.capacity_generation
    pool.derived["kept"] = 1
    change(pool)
    after = pool.columns()
    assert (after.epoch != before.epoch) is want_epoch
    assert (after is not before) is want_layout
    assert (pool.capacity_generation != capacity) is want_capacity
    assert (not pool.derived) is want_capacity


def test_epochs_of_two_pools_differ() -> None:
    """An epoch names one layout of one pool in the whole process: a page token can't be taken elsewhere."""
    assert pool_of("a").columns().epoch != pool_of("a").columns().epoch


# --- the log -------------------------------------------------------------------------------------------------------


def test_tells_which_rows_changed() -> None:
    """The log names the rows since a position, in order, repeated as they were."""
    pool = pool_of("a", "b", "c")
    pool.columns()
    start = pool.position()
    assert pool.changed_since(start) == []
    pool.show_use("c", {"runs": 1})
    middle = pool.position()
    pool.show_use("a", {"runs": 1})
    pool.show_use("c", {"runs": 2})
    assert pool.changed_since(start) == [2, 0, 2]
    assert pool.changed_since(middle) == [0, 2]


def test_a_new_layout_forgets_the_log() -> None:
    """Row numbers of an earlier layout mean nothing now: look at all of them."""
    pool = pool_of("a", "b")
    pool.columns()
    start = pool.position()
    pool.show_use("b", {"runs": 1})
    pool.put(candidate("aa"), UP, {})
    pool.columns()
    assert pool.changed_since(start) is None
    assert pool.changed_since(pool.position()) == []


@pytest.mark.parametrize(
    ("changes", "known"),
    [
        pytest.param(_LOG_BOUND, True, id="full"),
        pytest.param(_LOG_BOUND + 1, False, id="one more"),
        pytest.param(3 * _LOG_BOUND, False, id="three times over"),
    ],
)
def test_the_log_is_bounded(changes: int, *, known: bool) -> None:
    """What is too long ago is not remembered, and that is said; later positions still are."""
    pool = pool_of("a")
    pool.columns()
    start = pool.position()
    for number in range(changes):
        pool.show_use("a", {"runs": number % 2})
    assert (pool.changed_since(start) is not None) is known
    assert len(pool._log) <= _LOG_BOUND
    last = pool.position()
    pool.show_use("a", {"runs": 1})
    assert pool.changed_since(last) == [0]


def test_random_changes_agree_with_a_new_layout(seed: int) -> None:
    """After any series of changes the columns show what a pool built from scratch shows."""
    rng = Random(seed)
    pool = Pool(KEY)
    rows: dict[str, Any] = {}
    for _ in range(1500):
        name = rng.choice("abcdef")
        match rng.randrange(4):
            case 0:
                pool.remove(name)
                rows.pop(name, None)
            case 1 if name in rows:
                rows[name][2] = {"gpu": rng.randrange(3), "runs": rng.randrange(3)}
                pool.show_use(name, rows[name][2])
            case 2 if name in rows:
                rows[name][1] = rng.choice(list(Availability))
                pool.show_availability(name, rows[name][1])
            case _:
                capacity = rng.choice(({}, {"gpu": 1}, {"mem": 5}, {"runs": 0}))
                uid = rng.choice(("", "", "another"))
                seen = candidate(name, uid=uid, capacity=capacity)
                rows[name] = [seen, rng.choice((UP, DOWN)), {"runs": rng.randrange(3)}]
                pool.put(*rows[name])
        if rng.random() < 0.6:
            twin = Pool(KEY)
            for row in rows.values():
                twin.put(*row)
            assert shown(pool) == shown(twin)
            assert pool.columns().uids == twin.columns().uids
            assert np.array_equal(pool.columns().availability, twin.columns().availability)
    assert len(pool) == len(rows)
