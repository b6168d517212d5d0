"""Every verdict of the corpus, asked of `review` with the server's rules."""

import pytest

from tests.vectors.workload_api import NOT_JUDGED, CorpusCase, all_cases, cases, causes_of, look_up, replay

JUDGED = [case for case in cases() if case.data["id"] not in NOT_JUDGED]
EXCLUDED = [case for case in cases() if case.data["id"] in NOT_JUDGED]


@pytest.mark.parametrize("case", JUDGED, ids=lambda case: case.id)
def test_same_answer_as_the_server(case: CorpusCase) -> None:
    """Verdict, code, reason, every cause's field and reason, and the stored values are the server's."""
    answer = replay(case, "server")
    assert causes_of(answer) == case.want, answer.message
    stored = {path: look_up(answer.object, path) for path in case.want_stored}
    assert stored == case.want_stored


@pytest.mark.parametrize("case", EXCLUDED, ids=lambda case: case.id)
def test_excluded_cases_are_needed(case: CorpusCase) -> None:
    """A case leaves the list of exclusions as soon as it is judged right."""
    assert causes_of(replay(case, "server")) != case.want


def test_the_corpus_is_whole() -> None:
    """573 cases of groups, 16 of Jobs aside, and few that are not judged."""
    ids = {case.data["id"] for case in cases()}
    assert len(ids) == 573
    assert len({case.data["id"] for case in all_cases()}) == 589
    assert len(NOT_JUDGED) <= 30
    assert set(NOT_JUDGED) <= ids
