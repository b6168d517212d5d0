"""The view of one decision: one pool, one generation, and the item itself left out."""

import numpy as np
import pytest

from berth_server.objects.quantity import MAX_UNITS
from berth_server.objects.selectors import EVERYTHING
from berth_server.state.view import View, Workspace
from tests.builders import avoids, candidate, item, selector, state_of, term

WEB = {"app": "web"}
BOUND = Workspace("u", "ns", "w", 1, "py", "Bound", "p1", "")


def used(view: View, resource: str = "runs") -> dict[str, int]:
    """What is taken of each candidate."""
    index = view.columns.resources[resource]
    return dict(zip(view.columns.names, view.used[index].tolist(), strict=True))


def rows(view: View, found: np.ndarray) -> list[str]:
    """Name the rows."""
    return [view.columns.names[row] for row in found.tolist()]


@pytest.mark.parametrize(
    ("assigned", "reserved", "want"),
    [
        pytest.param("", "", {"p1": 1, "p2": 0}, id="nowhere"),
        pytest.param("p1", "", {"p1": 1, "p2": 0}, id="assigned"),
        pytest.param("", "p1", {"p1": 1, "p2": 0}, id="reserved"),
        pytest.param("p1", "p1", {"p1": 1, "p2": 0}, id="both on one"),
        pytest.param("p1", "p2", {"p1": 1, "p2": 0}, id="assigned and reserved elsewhere"),
    ],
)
def test_an_item_is_judged_as_if_it_were_nowhere(assigned: str, reserved: str, want: dict[str, int]) -> None:
    """Its own use and reservation are left out of every column, for it alone."""
    judged, twin = item("a", on=assigned, labels=WEB), item("twin", on="p1", labels=WEB)
    state = state_of(candidate("p1"), candidate("p2"), judged, twin)
    if reserved:
        state.hold(judged, f"ns/{reserved}")
    view = state.view(judged)
    assert used(view) == want
    assert view.shared is (not assigned and not reserved)
    assert rows(view, view.targets(selector(app="web")).rows) == ["p1"]
    others = {"p1": 1 + ("p1" in (assigned, reserved)), "p2": int(reserved == "p2")}
    assert used(state.view(item("other"))) == others


def test_it_is_no_target_and_repels_itself_nowhere() -> None:
    """Alone, its selectors find nothing, not even in the namespace at all."""
    judged = item(on="p1", labels=WEB, affinity=avoids(term(app="web")))
    view = state_of(candidate("p1"), judged).view(judged)
    found = view.targets(selector(app="web"))
    assert (found.rows.tolist(), found.anywhere) == ([], False)
    assert view.repellers(WEB).rows.tolist() == []


def test_the_use_that_is_left_out_is_exact() -> None:
    """What others take beyond 2^62 still counts as 2^62 without the item."""
    judged = item("a", on="p1", requests={"mem": 5})
    big = [item(name, on="p1", requests={"mem": MAX_UNITS}) for name in ("b", "c")]
    small = item("d", on="p2", requests={"mem": 7})
    state = state_of(candidate("p1", capacity={"mem": 9}), candidate("p2", capacity={"mem": 9}), judged, *big, small)
    assert used(state.view(judged), "mem") == {"p1": MAX_UNITS, "p2": 7}


def test_rows_are_ascending_and_of_this_pool() -> None:
    """A target in another pool of the namespace has no row here, and is said to be somewhere."""
    state = state_of(
        candidate("b"),
        candidate("a"),
        candidate("c", runtime="js"),
        *[item(f"t-{name}", on=name, labels=WEB) for name in ("b", "a", "c")],
    )
    found = state.view(item("judged")).targets(selector(app="web"))
    assert (found.rows.tolist(), found.anywhere) == ([0, 1], True)
    other = state.view(item("judged", runtime="js")).targets(selector(app="web"))
    assert other.rows.tolist() == [0]
    nobody = state.view(item("judged", runtime="go")).targets(selector(app="web"))
    assert (nobody.rows.tolist(), nobody.anywhere) == ([], True)


@pytest.mark.parametrize(
    "elsewhere",
    [
        pytest.param([item("t", namespace="other", on="p1", labels=WEB)], id="another namespace, a Pod of that name"),
        pytest.param([item("t", on="p1", on_uid="not in view", labels=WEB)], id="a Pod that is not in view"),
        pytest.param([item("t", on="p1", on_uid="other/p1", labels=WEB)], id="the UID of another namespace's Pod"),
        pytest.param([item("t", phase="Pending", labels=WEB)], id="not assigned"),
    ],
)
def test_a_target_that_does_not_count(elsewhere: list[object]) -> None:
    """It can neither be joined nor does it forbid seeding."""
    state = state_of(candidate("p1"), candidate("p1", namespace="other"), *elsewhere)  # type: ignore[arg-type]
    found = state.view(item("judged")).targets(EVERYTHING)
    assert (found.rows.tolist(), found.anywhere) == ([], False)


def test_a_reserved_item_is_a_target_and_repels() -> None:
    """An assumed target is as good as an actual one, both ways."""
    judged = item("a", labels=WEB, affinity=avoids(term(app="db")))
    state = state_of(candidate("p1"), judged)
    assert not state.view(item("b")).repels
    state.hold(judged, "ns/p1")
    view = state.view(item("b"))
    assert view.targets(selector(app="web")).rows.tolist() == [0]
    assert view.repels
    assert view.repellers({"app": "db"}).rows.tolist() == [0]
    state.unhold("ns/a")
    assert not state.view(item("b")).targets(selector(app="web")).anywhere


def test_nothing_can_be_changed_through_it() -> None:
    """Columns are read-only, the item's own copy too."""
    judged = item(on="p1")
    state = state_of(candidate("p1"), judged)
    for view in (state.view(judged), state.view(item("b"))):
        with pytest.raises(ValueError, match="read-only"):
            view.used[0, 0] = 7


def test_a_pool_that_nobody_is_in() -> None:
    """A Run of a runtime without Pods sees no rows; the state does not grow by the look."""
    state = state_of(candidate("p1"))
    view = state.view(item(runtime="go"))
    assert (len(view.columns), view.used.shape) == (0, (0, 0))
    assert list(state.pools) == [("ns", "py")]


def test_workspaces_and_names_of_the_namespace() -> None:
    """Looked up in the item's namespace, Pods in any pool of it."""
    state = state_of(candidate("p1"), candidate("p2", runtime="js"), candidate("p3", namespace="other"), BOUND)
    view = state.view(item())
    assert view.workspace("w") is BOUND
    assert view.workspace("v") is None
    assert state.view(item(namespace="other")).workspace("w") is None
    assert view.candidate_named("p2") is state.candidates["ns/p2"]
    assert view.candidate_named("p3") is None


def test_it_says_of_which_generation_it_is() -> None:
    """Anything that changes later has a higher one."""
    state = state_of(candidate("p1"))
    view = state.view(item())
    state.put_item(item("b"))
    assert state.view(item()).generation > view.generation
