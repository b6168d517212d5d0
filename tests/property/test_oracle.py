"""The engine against the oracle: the same outcome, reasons, scores and choice on thousands of random worlds."""

import os

import pytest

from berth_server.objects.item import Item
from berth_server.placement import answers
from berth_server.placement.diagnosis import diagnose, summarize
from berth_server.placement.eligibility import Member, standing
from berth_server.placement.read import Reader, unjudgeable
from tests.conftest import base_seed
from tests.oracle.rules import Verdict, judge
from tests.oracle.scores import PodScore
from tests.oracle.worlds import REQUIRED_FEATURES, World, features, random_world
from tests.property.engine_worlds import micros, reader_of

CHUNKS = int(os.environ.get("BERTH_ORACLE_CHUNKS", "20"))
WORLDS_A_CHUNK = 260
FAST_CHUNKS = 2
LEAST_SHARE = 0.05


def eligibility(reader: Reader, item: Item, world: World) -> str:
    """Return the engine's word for why the item is not planned now, in the oracle's vocabulary."""
    match standing(item, wall=micros(world.as_of), monotonic=1000.0):
        case None:
            return "Eligible"
        case answers.AlreadyAssigned():
            return "AlreadyAssigned"
        case answers.Ineligible(why=why):
            return why.value
        case answers.Invalid(violations=violations):
            return violations[0].reason
        case Member():
            return "MemberOfGroup"


def engine_verdict(reader: Reader, world: World, key: tuple[str, str]) -> Verdict:
    """Judge one Run with the engine, by the short way and by the full one."""
    item = reader._state.items[reader._state.item_uids[key]]
    word = eligibility(reader, item, world)
    if unjudgeable(item) is not None:
        return Verdict(word, {}, {}, None, 0, 0, "")
    cycle = reader.look(item)
    codes = cycle.filter()
    alone = [cycle.judge(row) for row in range(0, len(codes), 7)]
    assert alone == codes[::7].tolist(), "a row is judged otherwise alone than among all"
    ranked = cycle.score((codes == 0).nonzero()[0])
    names = cycle.view.columns.names
    engine = reader.engine("")
    # Three ways to one choice: ranked, led, and led from what the class cache kept.
    choices = {ranked.best(), cycle.choose(codes), engine.decide(cycle).row, engine.decide(reader.look(item)).row}
    assert len(choices) == 1, f"the ways to choose disagree: {choices}"
    chosen = choices.pop()
    scores = {}
    for position, row in enumerate(ranked.rows.tolist()):
        by_plugin = {
            plugin.NAME: (raw, int(normalized[position]), int(normalized[position]) * weight)
            for (plugin, weight), raw, normalized in zip(
                cycle.profile.scores, cycle.raw(row), ranked.normalized, strict=True
            )
        }
        scores[names[row]] = PodScore(by_plugin, int(ranked.total[position]))
    diagnosis = diagnose(cycle, codes)
    summary = summarize(cycle, engine.decide(cycle).counts)
    assert (summary.feasible, summary.message) == (diagnosis.feasible, diagnosis.message)
    return Verdict(
        eligibility=word,
        rejections={names[row]: cycle.profile.reasons[code - 1] for row, code in enumerate(codes.tolist()) if code},
        scores=scores,
        chosen=None if chosen < 0 else names[chosen],
        considered=diagnosis.considered,
        feasible=diagnosis.feasible,
        message=diagnosis.message,
    )


def oracle_verdict(world: World, key: tuple[str, str]) -> Verdict:
    """Judge one Run with the oracle."""
    return judge(world.objects, world.as_of, key, reserved=world.reserved, unbound=world.unbound)


@pytest.mark.parametrize(
    "chunk",
    [pytest.param(chunk, marks=[pytest.mark.slow] if chunk >= FAST_CHUNKS else []) for chunk in range(CHUNKS)],
)
def test_engine_agrees_with_the_oracle(chunk: int) -> None:
    """On every random world the engine and the oracle give one answer, whatever the order in which kinds are listed."""
    first = base_seed() + chunk * WORLDS_A_CHUNK
    for seed in range(first, first + WORLDS_A_CHUNK):
        world = random_world(seed)
        kinds = (
            ("Run", "PersistentWorkspace", "Pod", "Node") if seed % 2 else ("Node", "Pod", "PersistentWorkspace", "Run")
        )
        reader = reader_of(world, kinds)
        for key in world.runs:
            want = oracle_verdict(world, key)
            assert engine_verdict(reader, world, key) == want, f"world {seed}, Run {key}"


def test_the_worlds_cover_what_they_promise() -> None:
    """Each situation that the rules speak of occurs in at least 5 % of the worlds of this run."""
    seen: dict[str, int] = dict.fromkeys(REQUIRED_FEATURES, 0)
    count = 400
    for seed in range(base_seed(), base_seed() + count):
        world = random_world(seed)
        for feature in features(world, [oracle_verdict(world, key) for key in world.runs]):
            seen[feature] = seen.get(feature, 0) + 1
    rare = {feature: seen[feature] / count for feature in REQUIRED_FEATURES if seen[feature] < LEAST_SHARE * count}
    assert not rare
