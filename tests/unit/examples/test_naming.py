"""Names within the API's limits, and no two alike."""

import pytest

from berth.workload.validation.formats import long_name, short_name
from examples.job_controller.naming import group_name, pod_name, template_name, workload_name

LONG = "a" * 253


@pytest.mark.parametrize(
    ("job", "want"),
    [
        pytest.param("training", "training-pgt-0", id="short"),
        pytest.param("my.training", "my-training-pgt-0", id="dots-become-dashes"),
        pytest.param("a" * 57, "a" * 57 + "-pgt-0", id="the-longest-that-fits"),
        pytest.param("a" * 58, "a" * 57 + "-pgt-0", id="cut"),
        pytest.param("a" * 56 + ".bc", "a" * 56 + "-pgt-0", id="no-dash-at-the-cut"),
    ],
)
def test_template_names_are_labels(job: str, want: str) -> None:
    """Any name of a job gives a template that the API server takes."""
    assert template_name(job) == want
    assert not list(short_name(want))


def test_long_names_are_cut_and_stay_apart() -> None:
    """What is cut is in the hash."""
    names = [workload_name(LONG, "u1"), workload_name(LONG, "u2"), group_name(LONG, "a"), group_name(LONG, "b")]
    names += [pod_name(LONG, "a", 0), pod_name(LONG, "a", 1), pod_name(LONG, "b", 0)]
    assert len(set(names)) == len(names)
    assert not [problem for name in names for problem in long_name(name)]
    assert workload_name("training", "u1").startswith("training-")


def test_where_one_name_ends_does_not_matter() -> None:
    """`a-b` with `c` is not `a` with `b-c`."""
    assert group_name("a-b", "c") != group_name("a", "b-c")
