"""A replica that only reads: it answers questions, and decides nothing."""

from collections.abc import Awaitable, Callable

import pytest

from berth_server.placement.failures import PlacementError, Reason
from berth_server.placement.questions import (
    BindQuestion,
    Consistency,
    PlanQuestion,
    ReadOptions,
    ReleaseQuestion,
    ReserveQuestion,
    ScoreQuestion,
)
from tests.builders import pod, run
from tests.harness import Harness

Ask = Callable[[Harness], Awaitable[object]]


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda h: h.service.plan(PlanQuestion(h.run("a"), "me")), id="plan"),
        pytest.param(lambda h: h.service.plan_batch([]), id="plan-batch"),
        pytest.param(lambda h: h.service.reserve(ReserveQuestion(h.run("a"), h.pod("p1"), "me")), id="reserve"),
        pytest.param(lambda h: h.service.release(ReleaseQuestion("r", "me")), id="release"),
        pytest.param(lambda h: h.service.bind(BindQuestion("r", "me")), id="bind"),
        pytest.param(lambda h: h.service.pop(max_items=1, wait=0), id="pop"),
        pytest.param(lambda h: h.service.done("attempt"), id="done"),
        pytest.param(lambda h: h.service.score(ScoreQuestion(h.run("a"))), id="score-of-the-leader"),
        pytest.param(
            lambda h: h.service.inspector.list_pending(namespace="", page_size=1, page_token=""), id="list-pending"
        ),
        pytest.param(
            lambda h: h.service.inspector.list_reservations(namespace="", page_size=1, page_token=""),
            id="list-reservations",
        ),
    ],
)
async def test_a_reader_decides_nothing(ask: Ask) -> None:
    """Whatever only the leader may answer is NOT_LEADER, with what to do instead."""
    harness = await Harness(pod(), run("a"), leader=False).start()
    with pytest.raises(PlacementError) as raised:
        await ask(harness)
    assert raised.value.reason is Reason.NOT_LEADER


async def test_a_reader_answers_who_does_not_mind() -> None:
    """With consistency ANY the question is answered, and says that reservations are not included."""
    harness = await Harness(pod(), run("a"), leader=False).start()
    answer = await harness.service.score(ScoreQuestion(harness.run("a"), ReadOptions(consistency=Consistency.ANY)))
    assert answer.chosen is not None
    assert (answer.snapshot.leader, answer.snapshot.reservations_included) == (False, False)
