"""Eligibility: of several reasons not to plan an item now, which one it is told, and until when."""

from typing import Any

import pytest

from berth_server.objects.clock import SECOND
from berth_server.objects.item import Item
from berth_server.placement import answers
from berth_server.placement.eligibility import Member, retry_delay, retry_ends, settled, standing
from berth_server.placement.questions import CandidateRef
from berth_server.placement.translate import NEVER, instant
from tests.builders import MONOTONIC, NOW, item

WAITS: dict[str, Any] = {"attempt": 2, "retry_from": NOW}
INVALID: dict[str, Any] = {"requests": {"gpu": "-1"}}
UNSUPPORTED: dict[str, Any] = {"affinity": 7}
CANCELLED: dict[str, Any] = {"cancelRequested": True}


def word(judged: Item) -> str:
    """The outcome in one word."""
    match standing(judged, wall=NOW, monotonic=MONOTONIC):
        case None:
            return "eligible"
        case answers.AlreadyAssigned(candidate=found):
            return f"AlreadyAssigned {found.name}".strip()
        case answers.Ineligible(why=why):
            return why.value
        case answers.Invalid(violations=violations):
            return violations[0].reason
        case Member(group=group):
            return f"Member {group}"


@pytest.mark.parametrize(
    ("judged", "want"),
    [
        pytest.param(item(), "eligible", id="Pending"),
        pytest.param(item(phase="", labels={}), "eligible", id="no phase"),
        # Each line wins over all that follow it.
        pytest.param(item(on="p1", terminating=True, link="g", **CANCELLED), "AlreadyAssigned p1", id="assigned"),
        pytest.param(item(on="p1", phase="Odd", **INVALID), "AlreadyAssigned p1", id="assigned in an unknown phase"),
        pytest.param(
            item(phase="Running", terminating=True), "AlreadyAssigned", id="active, assigned to nobody knows what"
        ),
        pytest.param(item(phase="Failed", on="p1", terminating=True, **CANCELLED), "Terminal", id="terminal"),
        pytest.param(item(terminating=True, runtime="", link="g", **CANCELLED), "Terminating", id="terminating"),
        pytest.param(item(phase="Odd", runtime="", **CANCELLED, **UNSUPPORTED), "Cancelled", id="cancelled"),
        pytest.param(item(phase="Odd", runtime="", link="g", **UNSUPPORTED), "NoRuntime", id="no runtime"),
        pytest.param(item(runtime=None, **INVALID), "NoRuntime", id="a null runtime"),
        pytest.param(item(runtime=["py"], **INVALID), "UnsupportedField", id="a runtime of another type"),
        pytest.param(item(phase="Odd", link="g", **INVALID), "UnsupportedField", id="an unknown phase"),
        pytest.param(item(link="g", **UNSUPPORTED, **INVALID), "UnsupportedField", id="unsupported wins over invalid"),
        pytest.param(item(link="g", **WAITS, **INVALID), "InvalidResources", id="invalid"),
        pytest.param(item(link="g", workspace="", **WAITS), "InvalidWorkspaceReference", id="an empty workspace"),
        pytest.param(item(link="g", **WAITS), "Member g", id="member of a group"),
        pytest.param(item(link="", **WAITS), "Member", id="a link that can't be parsed holds"),
        pytest.param(item(**WAITS), "RetryDelay", id="waits for its retry"),
    ],
)
def test_what_an_item_is_told(judged: Item, want: str) -> None:
    """What ends the matter for good comes before what passes."""
    assert word(judged).strip() == want


def test_membership_and_delay_are_not_settled() -> None:
    """A dry run passes over both: only a change of the item itself settles anything."""
    assert settled(item(link="g", **WAITS)) is None


def test_details_name_what_is_wrong() -> None:
    """The value that is not supported, the path that is invalid, the candidate that it is on."""
    unknown = settled(item(phase="Odd"))
    assert isinstance(unknown, answers.Ineligible)
    assert unknown.detail == 'status.phase: this version does not support the value "Odd"'
    unsupported = settled(item(**UNSUPPORTED))
    assert isinstance(unsupported, answers.Ineligible)
    assert unsupported.detail == "spec.affinity: this version does not support the value 7"
    invalid = settled(item(**INVALID))
    assert isinstance(invalid, answers.Invalid)
    (violation,) = invalid.violations
    assert (violation.reason, violation.field) == ("InvalidResources", "spec.resources.requests.gpu")
    assert settled(item(on="p1")) == answers.AlreadyAssigned(CandidateRef("p1", "ns/p1"))


@pytest.mark.parametrize(
    ("attempt", "backoff", "since", "seen", "want"),
    [
        pytest.param(2, None, 0.0, 0.0, 1.0, id="1 s by default"),
        pytest.param(3, None, 0.0, 0.0, 2.0, id="doubled with every attempt"),
        pytest.param(2, "5s", 0.0, 0.0, 5.0, id="as the policy says"),
        pytest.param(4, "5s", 0.0, 0.0, 20.0, id="its backoff, doubled twice"),
        pytest.param(5, "10s", 0.0, 0.0, 60.0, id="at most a minute"),
        pytest.param(1000, None, 0.0, 0.0, 60.0, id="a thousand attempts"),
        pytest.param(2, "0s", 0.0, 0.0, None, id="a backoff of nothing"),
        pytest.param(2, "10s", -4.0, 0.0, 6.0, id="it ended 4 s ago by its stamp"),
        pytest.param(2, "10s", 0.0, -4.0, 6.0, id="it was first seen 4 s ago"),
        pytest.param(2, "10s", 3600.0, 0.0, 10.0, id="another machine's clock is an hour ahead"),
        pytest.param(2, "10s", -3600.0, 0.0, None, id="over long ago by its stamp"),
        pytest.param(2, "10s", -10.0, 0.0, None, id="over right now"),
        pytest.param(2, "10s", None, -3.0, 7.0, id="ended at no known time: from first sight"),
    ],
)
def test_retry_delay(attempt: int, backoff: str | None, since: float | None, seen: float, want: float | None) -> None:
    """Backoff * 2^(attempt-2), at most 60 s, from the stamp or from first sight, whichever ends first."""
    policy: dict[str, Any] = {} if backoff is None else {"retryPolicy": {"backoff": backoff}}
    retry_from = NEVER if since is None else NOW + round(since * SECOND)
    judged = item(attempt=attempt, retry_from=retry_from, retry_seen=MONOTONIC + seen, **policy)
    found = retry_delay(judged, wall=NOW, monotonic=MONOTONIC)
    if want is None:
        assert found is None
        assert standing(judged, wall=NOW, monotonic=MONOTONIC) is None
        return
    assert found is not None
    assert found.until == instant(NOW + round(want * SECOND))
    assert retry_ends(judged, wall=NOW, monotonic=MONOTONIC) == pytest.approx(MONOTONIC + want)


def test_without_a_former_end_there_is_no_delay() -> None:
    """A first attempt, or one that nobody saw end, is tried at once."""
    assert retry_ends(item(attempt=5), wall=NOW, monotonic=MONOTONIC) is None
