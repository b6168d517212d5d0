"""The differences between the rule sets: listed, each with its switch, and none unseen."""

from dataclasses import fields

import pytest

from berth.workload import DOCUMENTED, SERVER, Rules, rules_of
from tests.vectors.rule_sets import FILE, WHY, differences, generate
from tests.vectors.workload_api import NOT_JUDGED, cases, replay

SWITCHES = [field.name for field in fields(Rules)]


def test_the_list_of_differences_is_up_to_date() -> None:
    """Whoever changes the rules sees what changes: run `python -m tests.vectors.rule_sets`."""
    assert FILE.read_text(encoding="utf-8") == generate()


@pytest.mark.parametrize("switch", SWITCHES)
def test_each_switch_does_something_and_is_explained(switch: str) -> None:
    """No rule is dead, and documented has them all."""
    assert switch in WHY
    assert list(differences(switch))
    assert getattr(DOCUMENTED, switch)
    assert not getattr(SERVER, switch)


def test_documented_never_accepts_what_a_server_refuses() -> None:
    """It only adds rules."""
    for case in cases():
        if case.data["id"] not in NOT_JUDGED:
            server, documented = replay(case, SERVER), replay(case, DOCUMENTED)
            assert set(server.causes) <= set(documented.causes), case.id
            assert documented.accepted <= server.accepted, case.id


def test_rule_sets_by_name() -> None:
    """Names for the command line, instances for code."""
    assert rules_of("server") == SERVER
    assert rules_of("documented") == DOCUMENTED
    assert rules_of(Rules(all_needs_gang=True)) == Rules(all_needs_gang=True)
