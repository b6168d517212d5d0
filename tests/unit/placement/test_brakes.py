"""The brakes: when no keys are taken, what is said of it, and how they come off."""

import pytest

from berth_server.placement import brakes
from berth_server.placement.ports import ConflictError, KubeError, OutcomeUnknownError, RefusedError
from tests.builders import pod, run
from tests.harness import Harness

FORBIDDEN = RefusedError("runs.kruntimes.io is forbidden", code=403, reason="Forbidden")
INVALID = RefusedError("a webhook says no", code=422, reason="Invalid")


async def refused_by_turns(*failures: KubeError) -> Harness:
    """Return a world in which one bind after the other was refused, each for the next of `failures`."""
    harness = await Harness(pod(capacity={"runs": 100}), *(run(f"r{number:02}") for number in range(25))).start()
    harness.store.failures = list(failures)
    for number in range(len(failures)):
        reserved = await harness.reserve(f"r{number:02}")
        with pytest.raises(Exception, match=r"refused|changed"):
            await harness.bind(reserved.id)
    return harness


@pytest.mark.parametrize(
    ("failures", "want_braked"),
    [
        pytest.param([FORBIDDEN] * 19, False, id="one-too-few"),
        pytest.param([FORBIDDEN] * 20, True, id="twenty-of-one-kind"),
        pytest.param([*[FORBIDDEN] * 19, INVALID], False, id="another-kind-begins-anew"),
        pytest.param([ConflictError("newer")] * 20, False, id="conflicts-are-no-fault"),
    ],
)
async def test_refusals_of_one_kind_in_a_row_stop_the_taking(failures: list[KubeError], *, want_braked: bool) -> None:
    """Twenty definite refusals of one kind, and no key is taken any more; the server says why, once."""
    harness = await refused_by_turns(*failures)
    info = await harness.service.inspector.server_info()
    assert bool(info.brake) is want_braked
    taken = harness.service.work.take(8)
    assert bool(taken) is not want_braked
    said = [line for line in harness.log.lines if line[0] == "the driver stops taking keys"]
    assert len(said) == want_braked


async def test_a_probe_that_is_bound_releases_the_brake() -> None:
    """After a while one key is taken, alone; once it is bound the rest follows."""
    harness = await refused_by_turns(*[FORBIDDEN] * 20)
    await harness.advance(brakes.PROBE_SECONDS + 1)
    assert await harness.driver.step(wait=0) == 1
    await harness.driver.settle()
    harness.pump()
    assert not harness.core.brakes.reason()
    await harness.drive()
    assert len(harness.placements()) == 25


async def test_a_probe_that_is_refused_leaves_the_brake_on() -> None:
    """The next key is not taken before the next probe is due."""
    harness = await refused_by_turns(*[FORBIDDEN] * 20)
    await harness.advance(brakes.PROBE_SECONDS + 1)
    harness.store.failures = [FORBIDDEN]
    assert await harness.driver.step(wait=0) == 1
    await harness.driver.settle()
    assert await harness.driver.step(wait=0) == 0
    assert harness.core.brakes.reason()


async def test_writes_that_cannot_be_settled_stop_the_taking(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many unknown outcomes, and no key is taken until some are settled."""
    monkeypatch.setattr(brakes, "MAX_UNCONFIRMED", 2)
    harness = await Harness(pod(capacity={"runs": 9}), *(run(f"r{number}") for number in range(4))).start()
    harness.store.failures = [OutcomeUnknownError("reset"), OutcomeUnknownError("reset")]
    for name in ("r0", "r1"):
        reserved = await harness.reserve(name)
        with pytest.raises(Exception, match="unknown"):
            await harness.bind(reserved.id)
    assert "2 writes of unknown outcome" in harness.core.brakes.reason()
    assert harness.service.work.take(8) == []
    await harness.delete("Run", "r0")
    harness.pump()
    assert {taken.item.name for taken in harness.service.work.take(8)} >= {"r2", "r3"}
