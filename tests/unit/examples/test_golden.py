"""What `make demo` compares with is what the oracle says; and a difference is shown."""

import re

from berth_server.kube.manifests import load_cluster
from examples.demo import CLUSTER, GOLDEN, WIDTH, differences
from tests.oracle.rules import judge
from tests.unit.examples.test_quickstart import Outcome


def rows_below(heading: str) -> dict[str, str]:
    """Read a table of the golden file: the name of each row, and its text on one line."""
    table = GOLDEN.read_text(encoding="utf-8").split(f"\n{heading}")[1].split("\n\n")[0]
    _, *lines = re.sub(r"\n +", " ", table).splitlines()
    return {words[0]: words[1] for words in (line.split(maxsplit=1) for line in lines)}


def oracle() -> Outcome:
    """Place every Run by the oracle. Retry delays follow the real clock, which is long past the one of the example."""
    cluster = load_cluster(str(CLUSTER))
    for run in cluster.objects:
        if run["metadata"]["name"] == "import-flaky":
            run["status"].pop("conditions")
    return Outcome(cluster)


def test_every_placement_is_that_of_the_oracle() -> None:
    """Every Run that the oracle places is on the same Pod, and nothing else was placed."""
    outcome = oracle()
    want_placed = dict(outcome.placed)
    for run in outcome.of("Run"):
        status, metadata = run.get("status", {}), run["metadata"]
        if status.get("phase") in {"Scheduled", "Running", "Ready"}:
            want_placed[f"{metadata['namespace']}/{metadata['name']}"] = status["assignedPod"]
    placed = {
        f"{pod.partition('/')[0]}/{name}": pod.partition("/")[2]
        for pod, text in rows_below("RUNTIME POD").items()
        if not text.startswith("-")
        for name in text.split(", ")
    }
    assert placed == want_placed


def test_every_reason_is_that_of_the_oracle() -> None:
    """Word for word, for each Run that waits for something to change, as it stands once all others are placed."""
    outcome, as_of = oracle(), load_cluster(str(CLUSTER)).as_of
    waiting = {run: text for run, text in rows_below("RUN  ").items() if "runtime pods: " in text}
    want_waiting = {}
    for run in outcome.messages:
        namespace, _, name = run.partition("/")
        want_waiting[run] = judge(outcome.objects, as_of, (namespace, name)).message
    assert waiting == want_waiting


def test_it_can_be_read_without_scrolling() -> None:
    """Wide lines are only those that a single long word makes."""
    wide = [line for line in GOLDEN.read_text(encoding="utf-8").splitlines() if len(line) > WIDTH]
    assert all(len(line.split()) <= 2 for line in wide)


def test_a_difference_is_shown_as_a_diff() -> None:
    """And no difference as nothing."""
    assert differences("a\nb\n", "a\nb\n") == ""
    assert differences("a\nb\n", "a\nc\n").splitlines()[3:] == [" a", "-b", "+c"]
