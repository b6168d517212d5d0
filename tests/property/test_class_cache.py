"""The class cache against computing all anew, under whatever happens to the rows between two decisions."""

from random import Random
from typing import Any

import numpy as np
import pytest

from berth_server.framework import classes
from berth_server.framework.engine import Engine
from berth_server.objects.item import Item
from berth_server.state import pool as pools
from berth_server.state.candidate import PoolKey
from tests.builders import (
    DEFAULT_PROFILE,
    MONOTONIC,
    NOW,
    avoids,
    candidate,
    cycle_of,
    item,
    joins,
    see,
    state_of,
    term,
)
from tests.conftest import base_seed
from tests.oracle.worlds import random_world
from tests.property.engine_worlds import reader_of

STEPS = 2500
CLASSES: list[dict[str, Any]] = [
    {},
    {"requests": {"runs": 2}},
    {"requests": {"gpu": 1}},
    {"requests": {"mem": 2**40, "runs": 1}},
    {"requests": {"ghost": 1}},
    {"workspace": "absent"},
    {"affinity": joins(term(app="web"))},
    {"affinity": avoids(term(app="web"))},
    {"affinity": joins(preferred=[(5, term(app="web"))])},
]
"""Specs of the items that are decided: the first five are classes that can be kept, the others make plugins speak."""
CAPACITIES: list[dict[str, int]] = [
    {},
    {"runs": 5},
    {"gpu": 3},
    {"gpu": 0, "runs": 9},
    {"mem": 2**62},
    {"mem": 7, "gpu": 999_999_937},
    {"mem": 2**61 - 1},
]


class Churn:
    """A state to which things happen at random, and an engine that decides in between."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.state = state_of(live=True)
        self.engine = Engine(DEFAULT_PROFILE)
        self.now = MONOTONIC
        self.steps = (
            self.candidate_seen,
            self.candidate_seen,
            self.candidate_goes,
            self.heartbeat,
            self.time_passes,
            self.run_moves,
            self.run_moves,
            self.run_moves,
            self.run_ends,
            self.hold,
            self.unhold,
        )

    @property
    def wall(self) -> int:
        """The wall clock, in step with the monotonic one."""
        return NOW + round((self.now - MONOTONIC) * 1e6)

    def name(self) -> str:
        """Name one of few candidates."""
        return f"p{self.rng.randrange(7)}"

    def candidate_seen(self) -> None:
        """A candidate comes, changes, moves to another pool or is recreated."""
        rng, name = self.rng, self.name()
        seen = candidate(
            name,
            runtime="py" if rng.random() < 0.9 else "js",
            uid=f"another {name}" if rng.random() < 0.05 else "",
            ready=rng.random() < 0.9,
            invalid=rng.random() < 0.05,
            age=(NOW - self.wall) / 1e6 + rng.choice((0.0, 5.0)),
            capacity=rng.choice(CAPACITIES) if rng.random() < 0.5 else {},
        )
        see(self.state, seen, monotonic=self.now)

    def candidate_goes(self) -> None:
        """A candidate goes, rarely."""
        if self.state.candidates and self.rng.random() < 0.2:
            self.state.remove_candidate(self.rng.choice(sorted(self.state.candidates)))

    def heartbeat(self) -> None:
        """All candidates are heard from."""
        for uid in sorted(self.state.candidates):
            known = self.state.candidates[uid]
            fresh = candidate(known.name, runtime=known.pool.runtime, uid=uid, age=(NOW - self.wall) / 1e6)
            see(self.state, fresh, monotonic=self.now)

    def time_passes(self) -> None:
        """Some heartbeats expire."""
        self.now += self.rng.choice((0.0, 1.0, 6.0))
        self.state.advance(monotonic=self.now, wall=self.wall)

    def run_moves(self) -> None:
        """A Run is assigned somewhere, with another size and labels."""
        requests = self.rng.choice(({}, {"runs": 2}, {"gpu": 1}, {"mem": 2**61}, {"mem": 3, "gpu": 2}))
        labels = {"app": self.rng.choice(("web", "db"))}
        see(self.state, item(f"r{self.rng.randrange(12)}", on=self.name(), requests=requests, labels=labels))

    def run_ends(self) -> None:
        """A Run is deleted."""
        self.state.unhold(uid := f"ns/r{self.rng.randrange(12)}")
        self.state.remove_item(uid)

    def hold(self) -> None:
        """Room is reserved for a Run."""
        if self.state.items and self.state.candidates:
            uid = self.rng.choice(sorted(self.state.items))
            self.state.hold(self.state.items[uid], self.rng.choice(sorted(self.state.candidates)))

    def unhold(self) -> None:
        """A reservation ends."""
        self.state.unhold(f"ns/r{self.rng.randrange(12)}")

    def decided(self, judged: Item) -> tuple[int, list[int]]:
        """Decide by the engine, with what it keeps."""
        decision = self.engine.decide(self.engine.cycle(judged, self.state.view(judged)))
        counts = list(decision.counts)
        return decision.row, counts + [0] * (classes.MAX_CODES - len(counts))

    def computed(self, judged: Item) -> tuple[int, list[int]]:
        """Decide by asking every plugin about every row."""
        cycle = cycle_of(self.state, judged)
        codes = cycle.filter()
        row = cycle.score(np.flatnonzero(codes == 0)).best()
        assert cycle.choose(codes) == row
        return row, np.bincount(codes, minlength=classes.MAX_CODES).tolist()


@pytest.mark.parametrize(
    ("log_bound", "max_classes", "decisions"),
    [
        pytest.param(4096, 256, 1.0, id="as it is"),
        pytest.param(3, 256, 0.5, id="the log overflows"),
        pytest.param(4096, 2, 1.0, id="classes push each other out"),
        pytest.param(4096, 256, 0.1, id="many changes between two decisions"),
    ],
)
def test_what_is_kept_is_what_is_computed(
    monkeypatch: pytest.MonkeyPatch, log_bound: int, max_classes: int, decisions: float
) -> None:
    """After any changes of rows, every class is decided as if nothing had been kept, and counted alike."""
    monkeypatch.setattr(pools, "_LOG_BOUND", log_bound)
    monkeypatch.setattr(classes, "MAX_CLASSES", max_classes)
    churn = Churn(base_seed())
    kept = 0
    for step in range(STEPS):
        churn.rng.choice(churn.steps)()
        if churn.rng.random() < decisions:
            judged = item("judged", **churn.rng.choice(CLASSES))
            if churn.rng.random() < 0.2 and churn.state.items:
                judged = churn.state.items[churn.rng.choice(sorted(churn.state.items))]
            assert churn.decided(judged) == churn.computed(judged), f"step {step}"
            kept = max(kept, len(churn.engine.classes))
    assert 2 <= kept <= max_classes, "nothing was kept, so nothing was tested"


def test_a_row_is_judged_alike_alone_and_among_all(seed: int) -> None:
    """On random worlds the verdict on any subset of rows is the subset of the verdict on all."""
    for world_seed in range(seed, seed + 60):
        rng = Random(world_seed)
        reader = reader_of(random_world(world_seed))
        for judged in rng.sample(list(reader._state.items.values()), min(5, len(reader._state.items))):
            cycle = reader.look(judged)
            codes = cycle.filter()
            subset = np.array(sorted(rng.sample(range(len(codes)), rng.randrange(len(codes) + 1))), np.intp)
            assert cycle.filter(subset).tolist() == codes[subset].tolist(), f"world {world_seed}"
            for row in subset.tolist():
                assert cycle.filter_all(row)[:1] == ([int(codes[row])] if codes[row] else [])


def test_a_pool_that_comes_back_is_not_mistaken_for_the_old_one() -> None:
    """All Pods go and others come under the same names: what was kept of the old pool speaks of nothing."""
    churn = Churn(1)
    see(churn.state, candidate("p1"), candidate("p2"), item("r", on="p1"))
    judged = item("judged")
    assert churn.decided(judged)[0] == 1
    for uid in ("ns/p1", "ns/p2"):
        churn.state.remove_candidate(uid)
    assert churn.decided(judged) == churn.computed(judged)
    see(churn.state, candidate("p1", uid="x"), candidate("p2", uid="y"), item("s", on="p2", on_uid="y"))
    assert churn.state.pools.keys() == {PoolKey("ns", "py")}
    assert churn.decided(judged)[0] == 0
