"""Random worlds: reproducible, well formed, rich enough, and rules of the oracle that hold whatever the world."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from tests.oracle.fields import Json, meta
from tests.oracle.rules import Verdict, judge
from tests.oracle.worlds import REQUIRED_FEATURES, World, features, random_world

WORLDS = 400
LEAST_SHARE = 0.05


def judge_all(world: World) -> list[Verdict]:
    """Judge every Run that a world names."""
    return [
        judge(world.objects, world.as_of, key, reserved=world.reserved, unbound=world.unbound) for key in world.runs
    ]


@pytest.fixture(scope="module")
def sample() -> list[tuple[World, list[Verdict]]]:
    """Give worlds and their verdicts."""
    worlds = [random_world(seed) for seed in range(WORLDS)]
    return [(world, judge_all(world)) for world in worlds]


def small(sample: list[tuple[World, list[Verdict]]]) -> Iterator[tuple[World, list[Verdict]]]:
    """Give the worlds of a sample that are cheap to judge again."""
    return ((world, verdicts) for world, verdicts in sample if len(world.objects) < 40)


def test_same_seed_same_world() -> None:
    """A seed names one world, and another seed another."""
    assert random_world(7) == random_world(7)
    assert random_world(7) != random_world(8)


def test_worlds_are_well_formed(sample: list[tuple[World, list[Verdict]]]) -> None:
    """Objects are JSON with unique names and UIDs, and what is judged or reserved exists."""
    for world, _ in sample:
        assert json.loads(json.dumps(world.objects)) == world.objects
        names = {(thing["kind"], meta(thing, "namespace"), meta(thing, "name")) for thing in world.objects}
        uids = {meta(thing, "uid") for thing in world.objects}
        assert len(names) == len(uids) == len(world.objects)
        assert {("Run", *key) for key in world.runs} <= names
        assert {reservation.run_uid for reservation in world.reserved} <= uids
        assert world.runs


def test_every_situation_occurs(sample: list[tuple[World, list[Verdict]]]) -> None:
    """Each of the required situations is in at least 5 % of the worlds."""
    counts = Counter(feature for world, verdicts in sample for feature in features(world, verdicts))
    assert {name: counts[name] for name in REQUIRED_FEATURES if counts[name] < LEAST_SHARE * WORLDS} == {}


def test_sizes(sample: list[tuple[World, list[Verdict]]]) -> None:
    """About half of the worlds have at most 8 Pods, and none has more than 200 Runtime Pods."""
    counts = [sum(thing["kind"] == "Pod" for thing in world.objects) for world, _ in sample]
    assert 0.45 < sum(count <= 8 for count in counts) / WORLDS < 0.65
    assert max(counts) <= 201


def test_every_pod_is_either_scored_or_rejected(sample: list[tuple[World, list[Verdict]]]) -> None:
    """Rows are whole, totals are sums in range, and the message speaks exactly when nothing fits."""
    for _, verdicts in sample:
        for verdict in verdicts:
            assert not verdict.scores.keys() & verdict.rejections.keys()
            assert verdict.considered == len(verdict.scores) + len(verdict.rejections)
            assert (verdict.chosen is None) == (not verdict.scores)
            assert not verdict.message or verdict.chosen is None
            assert verdict.message or verdict.chosen or not verdict.considered
            for score in verdict.scores.values():
                assert score.total == sum(normalized for _, normalized, _ in score.plugins.values())
                assert all(0 <= normalized <= 100 for _, normalized, _ in score.plugins.values())


def test_order_of_objects_does_not_matter(sample: list[tuple[World, list[Verdict]]]) -> None:
    """A world that is listed in another order is the same world."""
    for world, verdicts in small(sample):
        shuffled = list(world.objects)
        Random(1).shuffle(shuffled)
        assert judge_all(replace(world, objects=shuffled)) == verdicts


def test_other_namespaces_do_not_matter(sample: list[tuple[World, list[Verdict]]]) -> None:
    """What is in other namespaces changes nothing, even where names are the same."""
    for world, verdicts in small(sample):
        for key, verdict in zip(world.runs, verdicts, strict=True):
            near = [thing for thing in world.objects if meta(thing, "namespace") == key[0]]
            uids = {meta(thing, "uid") for thing in near}
            reserved = [reservation for reservation in world.reserved if reservation.run_uid in uids]
            assert judge(near, world.as_of, key, reserved=reserved, unbound=world.unbound) == verdict


def test_a_run_is_judged_as_if_it_were_nowhere(sample: list[tuple[World, list[Verdict]]]) -> None:
    """Without its assignment and its reservation a Run gets the same rows, scores and choice."""
    for world, verdicts in small(sample):
        for key, verdict in zip(world.runs, verdicts, strict=True):
            elsewhere = [pending(thing) if _key(thing) == key else thing for thing in world.objects]
            reserved = [reservation for reservation in world.reserved if reservation.run_key != key]
            alone = judge(elsewhere, world.as_of, key, reserved=reserved, unbound=world.unbound)
            assert replace(alone, eligibility=verdict.eligibility) == verdict


def pending(run: Json) -> Json:
    """Copy a Run as if it had never been assigned."""
    return run | {"status": {"phase": "Pending"}} if run["kind"] == "Run" else run


def _key(thing: Json) -> tuple[str, str]:
    return (meta(thing, "namespace"), meta(thing, "name")) if thing["kind"] == "Run" else ("", "")
