"""Each filter reason on hand-made cases: where it begins, where it ends, and which reason comes first."""

from typing import Any

import pytest

from tests.oracle.ask import TOPOLOGY_KEY
from tests.oracle.build import (
    active,
    ago,
    asks,
    avoids,
    decide,
    joins,
    pod,
    reasons,
    reservation,
    run,
    term,
    workspace,
)
from tests.oracle.fields import Json

OTHER_UID = "another"


def spoiled(**changes: Any) -> Json:
    """Build the Pod p1 with parts of metadata or status replaced."""
    spoilt = pod("p1")
    for name, value in changes.items():
        spoilt["status" if name in spoilt["status"] else "metadata"][name] = value
    return spoilt


READY, HEARTBEAT = pod("p1")["status"]["conditions"]


@pytest.mark.parametrize(
    ("candidate", "want_reason"),
    [
        pytest.param(pod("p1"), None, id="ready"),
        pytest.param(spoiled(deletionTimestamp=ago(-30)), "RuntimePodTerminating", id="terminating"),
        pytest.param(spoiled(deletionTimestamp=ago(1), phase="Failed"), "RuntimePodTerminating", id="both"),
        pytest.param(spoiled(phase="Pending"), "RuntimePodNotReady", id="phase"),
        pytest.param(spoiled(conditions=[HEARTBEAT]), "RuntimePodNotReady", id="no Ready"),
        pytest.param(spoiled(conditions=[READY]), "RuntimePodNotReady", id="no RuntimedReady"),
        pytest.param(
            spoiled(conditions=[READY | {"status": "Unknown"}, HEARTBEAT]), "RuntimePodNotReady", id="Ready unknown"
        ),
        pytest.param(spoiled(conditions=None), "RuntimePodNotReady", id="no conditions"),
        pytest.param(pod("p1", stamp=ago(15)), None, id="15 s old"),
        pytest.param(pod("p1", stamp=ago(15.000001)), "StaleHeartbeat", id="older than 15 s"),
        pytest.param(pod("p1", stamp=ago(31)), "StaleHeartbeat", id="older than the skew allows"),
        pytest.param(pod("p1", stamp=ago(-30)), None, id="30 s ahead"),
        pytest.param(pod("p1", stamp=ago(-30.000001)), "SkewedClock", id="further ahead"),
        pytest.param(pod("p1", stamp=None), "StaleHeartbeat", id="no stamp"),
        pytest.param(pod("p1", stamp="now"), "StaleHeartbeat", id="unparsable stamp"),
        pytest.param(pod("p1", runs="1", gpu="x"), "InvalidCapacity", id="unparsable capacity"),
        pytest.param(pod("p1", gpu="-1"), "InvalidCapacity", id="negative capacity"),
        pytest.param(pod("p1", runs="1500m"), "InvalidCapacity", id="fractional capacity"),
        pytest.param(pod("p1", runs="1000m"), None, id="whole in milli"),
        pytest.param(pod("p1", runs="0"), "InsufficientCapacity", id="drained"),
        pytest.param(pod("p1", runs="", stamp=ago(60)), "StaleHeartbeat", id="stale before invalid"),
    ],
)
def test_availability(candidate: Json, want_reason: str | None) -> None:
    """A Pod takes a plain Run while it is there, ready, fresh, legible and not full."""
    assert reasons(decide(run(), candidate)).get("p1") == want_reason


@pytest.mark.parametrize(
    ("capacity", "requests", "others", "want_reason"),
    [
        pytest.param({}, {}, [{}], None, id="2 runs by default, 1 used"),
        pytest.param({}, {}, [{}, {}], "InsufficientCapacity", id="2 runs by default, 2 used"),
        pytest.param({}, {"runs": "0"}, [{}, {}], "InsufficientCapacity", id="0 runs mean 1"),
        pytest.param({}, {"runs": "2"}, [{}], "InsufficientCapacity", id="more runs than left"),
        pytest.param({"gpu": "4"}, {"gpu": "3"}, [{"gpu": "1"}], None, id="just fits"),
        pytest.param({"gpu": "4"}, {"gpu": "4"}, [{"gpu": "1"}], "InsufficientCapacity", id="one too many"),
        pytest.param({"gpu": "4"}, {}, [{"gpu": "9"}], None, id="overcommitted, but not asked for"),
        pytest.param({"gpu": "4"}, {"gpu": "0"}, [{"gpu": "9"}], None, id="0 is not asked for"),
        pytest.param({"gpu": "4"}, {"gpu": None}, [{"gpu": "9"}], None, id="null is 0"),
        pytest.param({}, {"gpu": "1"}, [], "ResourceNotAdvertised", id="not advertised"),
        pytest.param({"runs": "0"}, {"gpu": "1"}, [], "ResourceNotAdvertised", id="not advertised before full"),
        pytest.param({}, {"gpu": "0"}, [], None, id="0 of what is not advertised"),
        pytest.param({"gpu": "10E"}, {"gpu": str(2**62)}, [], None, id="2^62 fits"),
        pytest.param({"gpu": "10E"}, {"gpu": str(2**62 + 1)}, [], "InsufficientCapacity", id="2^62+1 never fits"),
        pytest.param({"gpu": "10E"}, {"gpu": str(2**63 - 1)}, [], "InsufficientCapacity", id="2^63-1 never fits"),
        pytest.param({"gpu": "10E"}, {"gpu": 1}, [{"gpu": 2**62}] * 2, "InsufficientCapacity", id="no wrap"),
        pytest.param({"gpu": 2**53 + 1}, {"gpu": 1}, [{"gpu": 2**53}], None, id="exact above doubles"),
        pytest.param({"runs": "3"}, {}, [{"runs": "2", "gpu": "x"}], None, id="unparsable use is one run"),
        pytest.param({"runs": "1"}, {}, [{"runs": "9", "gpu": True}], "InsufficientCapacity", id="of any kind"),
    ],
)
def test_room(capacity: Json, requests: Json, others: list[Json], want_reason: str | None) -> None:
    """What is requested must fit into min(capacity, 2^62) - min(use, 2^62)."""
    p1 = pod("p1", **{name: str(text) for name, text in capacity.items()})
    holders = [active(f"other-{i}", p1, resources={"requests": use}) for i, use in enumerate(others)]
    verdict = decide(run(resources={"requests": requests}), p1, *holders)
    assert reasons(verdict).get("p1") == want_reason


FULL = pod("p1", runs="1")


@pytest.mark.parametrize(
    ("holder", "want_full"),
    [
        pytest.param(active("b", FULL), True, id="active"),
        pytest.param(active("b", FULL, phase="Ready"), True, id="ready"),
        pytest.param(active("b", FULL, phase="Suspended"), True, id="unknown phase"),
        pytest.param(active("b", FULL, phase="Succeeded"), False, id="terminal"),
        pytest.param(run("b", status={"phase": "Running", "assignedPod": "p1"}), True, id="by name alone"),
        pytest.param(run("b", status={"phase": "Suspended", "assignedPod": "p1"}), True, id="unknown, by name"),
        pytest.param(run("b", namespace="y", status={"phase": "Running", "assignedPod": "p1"}), False, id="name of y"),
        pytest.param(
            run("b", status={"phase": "Running", "assignedPod": "p1", "assignedPodUID": OTHER_UID}),
            False,
            id="the Pod of that name before",
        ),
        pytest.param(run("b", status={"phase": "Running"}), False, id="nowhere"),
        pytest.param(active("a", FULL), False, id="the judged Run itself"),
    ],
)
def test_who_holds_capacity(*, holder: Json, want_full: bool) -> None:
    """Active Runs hold capacity on the Pod of their UID, or of their name as it is now; a Run never against itself."""
    judged = holder if holder["metadata"]["name"] == "a" else run()
    others = [] if judged is holder else [holder]
    assert (decide(judged, FULL, *others).chosen is None) == want_full


def test_reservation_counts_once_beside_its_assignment() -> None:
    """A Run that is both active and reserved on one Pod UID holds its requests there once."""
    p1, p2 = pod("p1"), pod("p2", runs="1")
    holder = active("b", p1)
    verdict = decide(run(), p1, p2, holder, reserved=[reservation(holder, p1), reservation(holder, p2)])
    assert reasons(verdict) == {"p2": "InsufficientCapacity"}


def test_own_reservation_is_left_out() -> None:
    """A Run's own reservation takes no room from it, while another's does."""
    judged, other = run("a"), run("b")
    assert decide(judged, FULL, other, reserved=[reservation(judged, FULL)]).chosen == "p1"
    assert reasons(decide(judged, FULL, other, reserved=[reservation(other, FULL)])) == {"p1": "InsufficientCapacity"}


P1, P2, NODE = pod("p1"), pod("p2"), pod("n1", runtime="node")


@pytest.mark.parametrize(
    ("found", "unbound", "want_reasons"),
    [
        pytest.param(None, "ignore", {}, id="absent"),
        pytest.param(None, "wait", dict.fromkeys(("p1", "p2"), "WorkspaceNotFound"), id="absent, wait"),
        pytest.param(workspace("w", phase="Pending"), "ignore", {}, id="pending"),
        pytest.param(
            workspace("w", phase="Pending"), "wait", dict.fromkeys(("p1", "p2"), "WorkspacePending"), id="pending, wait"
        ),
        pytest.param(workspace("w", phase="Bound"), "ignore", {}, id="bound to no Pod"),
        pytest.param(
            workspace("w", phase="Bound", boundPod=""),
            "wait",
            dict.fromkeys(("p1", "p2"), "WorkspacePending"),
            id="bound to no Pod, wait",
        ),
        pytest.param(workspace("w", phase="Bound", boundPod="p2"), "wait", {"p1": "WorkspacePinned"}, id="bound"),
        pytest.param(
            workspace("w", phase="Bound", boundPod="p2", boundPodUID="x/p2"),
            "ignore",
            {"p1": "WorkspacePinned"},
            id="bound by UID",
        ),
        pytest.param(
            workspace("w", phase="Bound", boundPod="p2", boundPodUID=OTHER_UID),
            "ignore",
            dict.fromkeys(("p1", "p2"), "WorkspaceLost"),
            id="Pod recreated",
        ),
        pytest.param(
            workspace("w", phase="Bound", boundPod="p3"),
            "ignore",
            dict.fromkeys(("p1", "p2"), "WorkspaceLost"),
            id="Pod gone",
        ),
        pytest.param(
            workspace("w", phase="Bound", boundPod="n1"),
            "ignore",
            dict.fromkeys(("p1", "p2"), "WorkspacePinned"),
            id="in another pool",
        ),
        pytest.param(
            workspace("w", phase="Lost", boundPod="p2"),
            "ignore",
            dict.fromkeys(("p1", "p2"), "WorkspaceLost"),
            id="lost",
        ),
        pytest.param(
            workspace("w", phase="Released"), "ignore", dict.fromkeys(("p1", "p2"), "WorkspaceLost"), id="released"
        ),
        pytest.param(
            workspace("w", runtime="node", phase="Lost"),
            "ignore",
            dict.fromkeys(("p1", "p2"), "WorkspaceMismatch"),
            id="of another runtime",
        ),
        pytest.param(
            workspace("w", runtime=None, phase="Bound", boundPod="p2"),
            "ignore",
            dict.fromkeys(("p1", "p2"), "WorkspaceMismatch"),
            id="of no runtime",
        ),
    ],
)
def test_workspace(found: Json | None, unbound: str, want_reasons: dict[str, str]) -> None:
    """A bound workspace pins its Run; one that is absent or not bound restricts only if told to wait."""
    others = [P1, P2, NODE, pod("p3", namespace="y"), *([found] if found else [])]
    verdict = decide(run(workspace={"name": "w"}), *others, unbound=unbound)
    assert reasons(verdict) == want_reasons


WEB = {"app": "web"}


@pytest.mark.parametrize(
    ("others", "labels", "want_reasons"),
    [
        pytest.param([active("b", P2, labels=WEB)], {}, {"p1": "UnsatisfiedRunAffinity"}, id="joins"),
        pytest.param(
            [active("b", P2, labels=WEB, phase="Failed")],
            {},
            dict.fromkeys(("p1", "p2"), "UnsatisfiedRunAffinity"),
            id="terminal target",
        ),
        pytest.param([], {}, dict.fromkeys(("p1", "p2"), "UnsatisfiedRunAffinity"), id="no target, no match"),
        pytest.param([], WEB, {}, id="seeds"),
        pytest.param([active("b", P2, labels=WEB)], WEB, {"p1": "UnsatisfiedRunAffinity"}, id="no seed beside one"),
        pytest.param(
            [active("b", NODE, labels=WEB)],
            WEB,
            dict.fromkeys(("p1", "p2"), "UnsatisfiedRunAffinity"),
            id="another pool forbids seeding",
        ),
        pytest.param([active("b", pod("p1", namespace="y"), labels=WEB)], WEB, {}, id="another namespace does not"),
        pytest.param(
            [run("b", labels=WEB, status={"phase": "Running", "assignedPodUID": OTHER_UID})],
            WEB,
            {},
            id="nor one on a Pod not in view",
        ),
        pytest.param([run("b", labels=WEB)], WEB, {}, id="nor one that is nowhere"),
    ],
)
def test_required_affinity(others: list[Json], labels: Json, want_reasons: dict[str, str]) -> None:
    """A required term wants a target on this very Pod, or none in the namespace and a Run that matches it itself."""
    judged = run(labels=labels, affinity=joins(term(**WEB)))
    assert reasons(decide(judged, P1, P2, NODE, *others)) == want_reasons


def test_terms_are_seeded_one_by_one() -> None:
    """One term may join a target while the other is seeded: the exception is judged per term."""
    judged = run(labels={"app": "web", "tier": "y"}, affinity=joins(term(app="web"), term(tier="y")))
    target = active("b", P2, labels={"app": "web"})
    assert reasons(decide(judged, P1, P2, target)) == {"p1": "UnsatisfiedRunAffinity"}
    assert reasons(decide(judged, P1, P2)) == {}


def test_reserved_run_is_a_target_and_joins_a_full_pod_never() -> None:
    """A reservation attracts as an assignment does, and a target on a full Pod is not left for another Pod."""
    assumed, full = run("b", labels=WEB), pod("p2", runs="1")
    judged = run(labels=WEB, affinity=joins(term(**WEB)))
    want_reasons = {"p1": "UnsatisfiedRunAffinity", "p2": "InsufficientCapacity"}
    assert reasons(decide(judged, P1, full, assumed, reserved=[reservation(assumed, full)])) == want_reasons


def test_own_assignment_is_no_target() -> None:
    """An active Run that is judged again neither repels nor attracts itself."""
    judged = active("a", P2, labels=WEB, affinity=joins(term(**WEB)) | avoids(term(**WEB)))
    assert reasons(decide(judged, P1, P2, reserved=[reservation(judged, P1)])) == {}


def test_anti_affinity_comes_after_affinity() -> None:
    """A required anti-affinity term rejects the Pods of its targets, once affinity is satisfied."""
    judged = run(affinity=joins(term(app="web")) | avoids(term(app="db")))
    wide = pod("p2", runs="9")
    others = [active("b", wide, labels={"app": "web"}), active("c", wide, labels={"app": "db"})]
    want_reasons = {"p1": "UnsatisfiedRunAffinity", "p2": "UnsatisfiedRunAntiAffinity"}
    assert reasons(decide(judged, P1, wide, *others)) == want_reasons


LATER_TERM = {"labelSelector": {}, "topologyKey": "zone"}
EMPTY_IN = {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "In"}]}, "topologyKey": TOPOLOGY_KEY}


@pytest.mark.parametrize(
    ("terms", "phase", "want_reason"),
    [
        pytest.param([term(app="web")], "Running", "ExistingRunAntiAffinity", id="selects"),
        pytest.param([term(app="db"), term(app="web")], "Ready", "ExistingRunAntiAffinity", id="any term"),
        pytest.param([term(app="db")], "Running", None, id="selects others"),
        pytest.param([term(app="web")], "Timeout", None, id="terminal"),
        pytest.param([LATER_TERM, EMPTY_IN], "Running", None, id="does not compile"),
        pytest.param([LATER_TERM, term(app="web")], "Running", "ExistingRunAntiAffinity", id="one compiles"),
    ],
)
def test_existing_anti_affinity(terms: list[Json], phase: str, want_reason: str | None) -> None:
    """A Run that is on a Pod keeps off it whom its required anti-affinity selects."""
    existing = active("b", P1, phase=phase, affinity=avoids(*terms))
    verdict = decide(run(labels=WEB), P1, P2, existing)
    assert reasons(verdict).get("p1") == want_reason
    assert verdict.rejections.get("p1", ("ExistingRunAntiAffinity", ""))[0] == "ExistingRunAntiAffinity"
    assert "p2" not in verdict.rejections


def test_existing_anti_affinity_of_a_reserved_run_and_of_another_namespace() -> None:
    """An assumed Run repels like an active one; nobody repels across namespaces."""
    assumed = run("b", affinity=avoids(term(**WEB)))
    elsewhere = active("b", pod("p1", namespace="y"), affinity=avoids(term(**WEB)))
    verdict = decide(run(labels=WEB), P1, assumed, elsewhere, reserved=[reservation(assumed, P1)])
    assert reasons(verdict) == {"p1": "ExistingRunAntiAffinity"}
    assert reasons(decide(run(labels=WEB), P1, elsewhere)) == {}


def line(operator: str, *values: str) -> Json:
    """Build a selector of one expression on the key app."""
    return {"matchExpressions": [{"key": "app", "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("selector", "want_matches"),
    [
        pytest.param(None, [], id="null"),
        pytest.param({}, ["web", "db", "none"], id="empty"),
        pytest.param({"matchLabels": None, "matchExpressions": None}, ["web", "db", "none"], id="empty parts"),
        pytest.param({"matchLabels": {"app": "web"}}, ["web"], id="matchLabels"),
        pytest.param(line("In", "web", "db"), ["web", "db"], id="In"),
        pytest.param(line("NotIn", "web"), ["db", "none"], id="NotIn"),
        pytest.param(line("Exists"), ["web", "db"], id="Exists"),
        pytest.param(line("DoesNotExist"), ["none"], id="DoesNotExist"),
        pytest.param({"matchLabels": {"app": "web"}} | line("NotIn", "web"), [], id="both"),
    ],
)
def test_selectors(selector: Json | None, want_matches: list[str]) -> None:
    """Selectors follow Kubernetes, also for null, empty and missing keys."""
    pods = {name: pod(name) for name in ("web", "db", "none")}
    targets = [
        active(f"on-{name}", candidate, labels={} if name == "none" else {"app": name})
        for name, candidate in pods.items()
    ]
    judged = run(affinity=avoids({"labelSelector": selector, "topologyKey": TOPOLOGY_KEY}), resources=asks())
    assert sorted(reasons(decide(judged, *pods.values(), *targets))) == sorted(want_matches)
