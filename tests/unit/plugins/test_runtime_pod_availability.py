"""RuntimePodAvailability: the Pod's own state, then its capacity, resource by resource."""

from typing import Any

import numpy as np
import pytest

from berth_server.framework.engine import Cycle
from berth_server.objects.quantity import MAX_UNITS
from berth_server.state.candidate import Candidate
from tests.builders import candidate, cycle_of, item, reasons_in, state_of

FULL = {"runs": 2}


def cycle_on(*things: Any, **requests: Any) -> Cycle:
    """Prepare a Run with these requests on things."""
    return cycle_of(state_of(*things), item("judged", requests=requests))


@pytest.mark.parametrize(
    ("pod", "requests", "want"),
    [
        pytest.param(candidate(), {}, "", id="room"),
        pytest.param(candidate(terminating=True), {}, "RuntimePodTerminating", id="terminating"),
        pytest.param(candidate(ready=False), {}, "RuntimePodNotReady", id="not ready"),
        pytest.param(candidate(age=15.1), {}, "StaleHeartbeat", id="stale"),
        pytest.param(candidate(age=-31.0), {}, "SkewedClock", id="skewed"),
        pytest.param(candidate(invalid=True), {}, "InvalidCapacity", id="capacity that can't be read"),
        pytest.param(candidate(), {"gpu": 1}, "ResourceNotAdvertised", id="not advertised by anybody"),
        pytest.param(candidate(), {"runs": 3}, "InsufficientCapacity", id="more than there is"),
        pytest.param(candidate(), {"runs": 2}, "", id="exactly what there is"),
        pytest.param(candidate(capacity={"runs": 0}), {}, "InsufficientCapacity", id="drained"),
        pytest.param(candidate(capacity={"gpu": 0}), {"gpu": 1}, "InsufficientCapacity", id="none left is not absent"),
        pytest.param(candidate(capacity={"gpu": 0}), {"gpu": 0}, "", id="0 asks for nothing"),
        pytest.param(candidate(), {"gpu": 1, "runs": 9}, "ResourceNotAdvertised", id="absent before short"),
        pytest.param(
            candidate(ready=False, age=99.0), {"gpu": 1}, "RuntimePodNotReady", id="its own state before capacity"
        ),
        pytest.param(candidate(invalid=True), {"gpu": 1}, "InvalidCapacity", id="unreadable before absent"),
        pytest.param(candidate(capacity={"mem": MAX_UNITS}), {"mem": MAX_UNITS}, "", id="2^62 fits into 2^62"),
        pytest.param(
            candidate(capacity={"mem": MAX_UNITS + 5}), {"mem": MAX_UNITS + 1}, "InsufficientCapacity", id="never fits"
        ),
        pytest.param(
            candidate(capacity={"mem": 1}),
            {"mem": 2**63 - 1},
            "InsufficientCapacity",
            id="the largest request there is",
        ),
    ],
)
def test_one_pod(pod: Candidate, requests: dict[str, int], want: str) -> None:
    """A Pod fits, or the first thing that is wrong with it is its reason."""
    assert reasons_in(cycle_on(pod, **requests)) == {"p1": want}


@pytest.mark.parametrize(
    ("used", "requests", "want"),
    [
        pytest.param({"runs": 1}, {}, "", id="one of two taken"),
        pytest.param({"runs": 2}, {}, "InsufficientCapacity", id="full"),
        pytest.param({"runs": 1, "gpu": 5}, {}, "", id="overcommitted in what is not asked for"),
        pytest.param(
            {"runs": 1, "gpu": 5}, {"gpu": 1}, "InsufficientCapacity", id="overcommitted in what is asked for"
        ),
        pytest.param({"gpu": MAX_UNITS}, {"gpu": 2**63 - 1}, "InsufficientCapacity", id="sums would wrap"),
        pytest.param({"ghost": 7}, {"ghost": 1}, "ResourceNotAdvertised", id="used but not advertised"),
    ],
)
def test_use_counts(used: dict[str, int], requests: dict[str, int], want: str) -> None:
    """Only requested resources are looked at; `runs` is always one of them."""
    pod = candidate(capacity={"gpu": 4})
    assert reasons_in(cycle_on(pod, item("other", on="p1", requests=used), **requests)) == {"p1": want}


def test_rows_of_one_pool_differ() -> None:
    """A resource that some advertise is missing on the others alone."""
    cycle = cycle_on(
        candidate("with", capacity={"gpu": 1}),
        candidate("without"),
        candidate("short", capacity={"gpu": 1}),
        candidate("down", ready=False),
        item("other", on="short", requests={"gpu": 1}),
        gpu=1,
    )
    assert reasons_in(cycle) == {
        "down": "RuntimePodNotReady",
        "short": "InsufficientCapacity",
        "with": "",
        "without": "ResourceNotAdvertised",
    }


@pytest.mark.parametrize(
    ("pod", "requests", "want"),
    [
        pytest.param(candidate(ready=False), {}, "", id="the reason says it all"),
        pytest.param(candidate(), {"gpu": 1}, "gpu: not advertised", id="absent"),
        pytest.param(candidate(), {"zap": 1, "gpu": 1}, "gpu: not advertised", id="the first that is absent"),
        pytest.param(candidate(), {"runs": 3}, "runs: needs 3, free 1", id="short"),
        pytest.param(
            candidate(capacity={"gpu": 1, "mem": 9}), {"gpu": 2, "mem": 10}, "gpu: needs 2, free 1", id="first short"
        ),
        pytest.param(candidate(capacity={"runs": 0}), {}, "runs: needs 1, free 0", id="never less than none"),
    ],
)
def test_details(pod: Candidate, requests: dict[str, int], want: str) -> None:
    """The first resource that is missing or short, with numbers."""
    cycle = cycle_on(pod, item("other", on="p1"), **requests)
    assert cycle.detail(0, int(cycle.filter()[0])) == want


def test_nearest_miss() -> None:
    """Of Pods that are short: the fewest short resources first, then the least that is lacking, then the name."""
    cycle = cycle_on(
        candidate("a", capacity={"gpu": 1, "mem": 1}),
        candidate("b", capacity={"gpu": 8, "mem": 1}),
        candidate("c", capacity={"gpu": 8, "mem": 3}),
        candidate("d", capacity={"gpu": 8, "mem": 3}),
        candidate("e", capacity={"gpu": 3, "mem": 3}),
        gpu=4,
        mem=4,
    )
    code = int(cycle.filter()[0])
    assert cycle.nearest(np.arange(5), code) == (2, "mem: needs 4, free 3")
    assert cycle.nearest(np.array([0, 1]), code) == (1, "mem: needs 4, free 1")
    assert cycle.nearest(np.array([1, 4]), code) == (1, "mem: needs 4, free 1"), "short of one thing, if of more of it"
    assert cycle.nearest(np.array([0, 1]), 1) is None
