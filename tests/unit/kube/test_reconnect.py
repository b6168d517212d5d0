"""When the next request goes out."""

import pytest

from berth_server.kube.reconnect import CAP_SECONDS, HEALTHY_SECONDS, Reconnect

NOW = 500.0


@pytest.mark.parametrize(
    ("failures", "chance", "want"),
    [
        pytest.param(1, 0.0, 0.1, id="first, least"),
        pytest.param(1, 1.0, 0.2, id="first, most"),
        pytest.param(2, 1.0, 0.4, id="second"),
        pytest.param(5, 1.0, 3.2, id="fifth"),
        pytest.param(7, 1.0, CAP_SECONDS, id="cap"),
        pytest.param(5000, 1.0, CAP_SECONDS, id="many"),
        pytest.param(5000, 0.0, CAP_SECONDS / 2, id="many, least"),
    ],
)
def test_failures_in_a_row(failures: int, chance: float, want: float) -> None:
    """Waits double up to ten seconds, and are spread over their upper half."""
    reconnect = Reconnect()
    for _ in range(failures):
        reconnect.failed(NOW, chance=chance)
    assert reconnect.wait(NOW) == pytest.approx(want)


def test_the_wait_passes() -> None:
    """It is counted from the failure."""
    reconnect = Reconnect()
    reconnect.failed(NOW, chance=1.0)
    assert reconnect.wait(NOW + 0.15) == pytest.approx(0.05)
    assert reconnect.wait(NOW + 1) == 0


def test_the_server_is_given_the_time_that_it_asks_for() -> None:
    """Retry-After is a lower bound."""
    reconnect = Reconnect()
    reconnect.failed(NOW, chance=0.0, retry_after=7.0)
    assert reconnect.wait(NOW) == 7.0


def test_a_watch_that_lived_ends_the_row() -> None:
    """What failed long ago says nothing about today."""
    reconnect = Reconnect()
    for _ in range(6):
        reconnect.failed(NOW, chance=1.0)
    reconnect.failed(NOW, chance=1.0, lived=HEALTHY_SECONDS)
    assert reconnect.wait(NOW) == pytest.approx(0.2)


def test_an_orderly_end_waits_for_nothing() -> None:
    """The server ends every watch after a while."""
    reconnect = Reconnect()
    reconnect.failed(NOW, chance=1.0)
    reconnect.closed(NOW + 30, chance=1.0, lived=30.0)
    assert reconnect.wait(NOW + 30) == 0
    assert reconnect.failures == 0


def test_watches_that_end_at_once_do_not_spin() -> None:
    """An orderly end right after the start is a failure."""
    reconnect = Reconnect()
    for _ in range(3):
        reconnect.closed(NOW, chance=1.0, lived=0.1)
    assert reconnect.wait(NOW) == pytest.approx(0.8)


def test_a_list_between_failing_watches_does_not_make_them_spin() -> None:
    """Lists succeed, each watch after them fails: the waits grow all the same."""
    reconnect, waits = Reconnect(), []
    for _ in range(3):
        reconnect.failed(NOW, chance=1.0)
        waits.append(reconnect.wait(NOW))
        reconnect.listed()
        assert reconnect.wait(NOW) == 0
    assert waits == pytest.approx([0.2, 0.4, 0.8])
