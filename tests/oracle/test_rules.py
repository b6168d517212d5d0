"""Eligibility in its order, the message of a waiting Run, and what a verdict shows of a Run that can't be judged."""

from typing import Any

import pytest

from tests.oracle.ask import PREFERRED, REQUIRED, TOPOLOGY_KEY
from tests.oracle.build import AS_OF, active, ago, asks, avoids, decide, joins, pod, run, term
from tests.oracle.fields import Json
from tests.oracle.rules import judge, waiting_message

P1 = pod("p1")
FAILED_ONCE = {"type": "Running", "status": "False"}


def odd(thing: Json, **metadata: Any) -> Json:
    """Add entries to a Run's metadata."""
    return thing | {"metadata": thing["metadata"] | metadata}


GROUP = {"annotations": {"berth.dev/pod-group-name": "g"}}
INVALID = asks(gpu="-1")


@pytest.mark.parametrize(
    ("judged", "want_eligibility"),
    [
        pytest.param(run(), "Eligible", id="no status"),
        pytest.param(run(status={"phase": "Pending"}), "Eligible", id="pending"),
        pytest.param(odd(active("a", P1), deletionTimestamp=ago(1)), "AlreadyAssigned", id="active before terminating"),
        pytest.param(run(status={"phase": "Scheduled"}), "AlreadyAssigned", id="active nowhere"),
        pytest.param(active("a", P1, phase="Suspended"), "AlreadyAssigned", id="unknown phase, assigned"),
        pytest.param(run(status={"phase": "Suspended"}), "UnsupportedField", id="unknown phase, not assigned"),
        pytest.param(
            odd(active("a", P1, phase="Failed"), deletionTimestamp=ago(1)), "Terminal", id="terminal before terminating"
        ),
        pytest.param(odd(run(cancelRequested=True), deletionTimestamp=ago(1)), "Terminating", id="before cancelled"),
        pytest.param(run(cancelRequested=True, runtime=""), "Cancelled", id="cancelled before no runtime"),
        pytest.param(run(cancelRequested=False), "Eligible", id="not cancelled"),
        pytest.param(run(runtime=None, timeout=3), "NoRuntime", id="no runtime before unsupported"),
        pytest.param(
            odd(run(timeout=3, resources=INVALID), **GROUP), "UnsupportedField", id="unsupported before invalid"
        ),
        pytest.param(odd(run(resources=INVALID), **GROUP), "InvalidResources", id="invalid before group"),
        pytest.param(
            odd(run(status={"attempt": 9, "conditions": [FAILED_ONCE]}), **GROUP), "MemberOfGroup", id="before delay"
        ),
        pytest.param(odd(run(), annotations=None), "Eligible", id="no annotations"),
    ],
)
def test_eligibility(judged: Json, want_eligibility: str) -> None:
    """The first reason in Plan's order why a Run is not placed now."""
    assert decide(judged, P1).eligibility == want_eligibility


def ended(seconds_ago: float | None, attempt: int, status: str = "False") -> Json:
    """Build the status of a Run whose attempt ended a while ago."""
    when = {} if seconds_ago is None else {"lastTransitionTime": ago(seconds_ago)}
    return {"phase": "Pending", "attempt": attempt, "conditions": [FAILED_ONCE | {"status": status} | when]}


@pytest.mark.parametrize(
    ("status", "policy", "want_waits"),
    [
        pytest.param(ended(0, 1), None, False, id="first attempt"),
        pytest.param(ended(0.5, 2), None, True, id="default 1 s"),
        pytest.param(ended(1, 2), {}, False, id="over after 1 s"),
        pytest.param(ended(3.9, 4), {"backoff": None}, True, id="doubled twice"),
        pytest.param(ended(4, 4), None, False, id="over after 4 s"),
        pytest.param(ended(59, 1_000_000), None, True, id="at most 60 s"),
        pytest.param(ended(60, 1_000_000), None, False, id="over after 60 s"),
        pytest.param(ended(2.9, 3), {"backoff": "1.5s"}, True, id="own backoff"),
        pytest.param(ended(3, 3), {"backoff": "1.5s"}, False, id="own backoff over"),
        pytest.param(ended(0, 3, "True"), None, False, id="still running"),
        pytest.param({"attempt": 3}, None, False, id="no condition"),
        pytest.param(ended(None, 2), None, True, id="from first sight when no time is known"),
        pytest.param(ended(-3600, 2), None, True, id="ahead of our clock"),
    ],
)
def test_retry_delay(*, status: Json, policy: Json | None, want_waits: bool) -> None:
    """From the second attempt on a Run waits backoff * 2^(attempt-2), at most 60 s; it can be judged all the same."""
    verdict = decide(run(status=status, retryPolicy=policy), P1)
    assert verdict.eligibility == ("RetryDelay" if want_waits else "Eligible")
    assert verdict.chosen == "p1"


def preferred(**entry: Any) -> Json:
    """Build an affinity with one preferred term."""
    return {"runAffinity": {PREFERRED: [entry]}}


def required(selector: Any, topology_key: Any = TOPOLOGY_KEY) -> Json:
    """Build an anti-affinity with one required term."""
    return {"runAntiAffinity": {REQUIRED: [{"labelSelector": selector, "topologyKey": topology_key}]}}


def line(**entry: Any) -> Json:
    """Build a selector of one expression."""
    return {"matchExpressions": [{"key": "app"} | entry]}


LATER_LINE = line(operator="Gt", values=["1"])


@pytest.mark.parametrize(
    ("spec", "want_eligibility"),
    [
        pytest.param({"resources": asks(gpu="0", cpu=None, runs=1)}, "Eligible", id="zero, null, number"),
        pytest.param({"resources": None, "affinity": None, "workspace": None}, "Eligible", id="nulls"),
        pytest.param({"resources": asks(gpu=str(2**63 - 1))}, "Eligible", id="2^63-1"),
        pytest.param({"resources": asks(gpu=str(2**63))}, "InvalidResources", id="2^63"),
        pytest.param({"resources": asks(gpu="1n")}, "InvalidResources", id="fractional"),
        pytest.param({"resources": asks(gpu=0.5)}, "InvalidResources", id="fractional number"),
        pytest.param({"resources": asks(gpu=-1)}, "InvalidResources", id="negative number"),
        pytest.param({"resources": asks(gpu="")}, "InvalidResources", id="empty"),
        pytest.param({"resources": asks(gpu=True)}, "UnsupportedField", id="boolean request"),
        pytest.param({"resources": {"requests": []}}, "UnsupportedField", id="list of requests"),
        pytest.param({"affinity": required(None)}, "Eligible", id="null selector"),
        pytest.param({"affinity": required(line(operator="In"))}, "InvalidAffinity", id="In without values"),
        pytest.param({"affinity": required(line(operator="NotIn", values=[]))}, "InvalidAffinity", id="NotIn without"),
        pytest.param(
            {"affinity": required(line(operator="Exists", values=["a"]))}, "InvalidAffinity", id="Exists with"
        ),
        pytest.param(
            {"affinity": required(line(operator="DoesNotExist", values=["a"]))},
            "InvalidAffinity",
            id="DoesNotExist with",
        ),
        pytest.param({"affinity": required(line(operator="Exists", key=""))}, "InvalidAffinity", id="empty key"),
        pytest.param({"affinity": required({"matchLabels": {"": "a"}})}, "InvalidAffinity", id="empty label"),
        pytest.param({"affinity": required(LATER_LINE)}, "UnsupportedField", id="operator"),
        pytest.param({"affinity": required({}, "zone")}, "UnsupportedField", id="topologyKey"),
        pytest.param({"affinity": required({}, None)}, "UnsupportedField", id="no topologyKey"),
        pytest.param({"affinity": required("app=web")}, "UnsupportedField", id="selector as text"),
        pytest.param({"affinity": avoids(*[term(app="web")] * 32)}, "Eligible", id="32 terms"),
        pytest.param({"affinity": avoids(*[term(app="web")] * 33)}, "UnsupportedField", id="33 terms"),
        pytest.param({"affinity": joins(preferred=[(1, term(a="b"))] * 33)}, "UnsupportedField", id="33 preferred"),
        pytest.param({"affinity": preferred(weight=1, runAffinityTerm=term())}, "Eligible", id="weight 1"),
        pytest.param({"affinity": preferred(weight=100, runAffinityTerm=term())}, "Eligible", id="weight 100"),
        pytest.param({"affinity": preferred(weight=0, runAffinityTerm=term())}, "InvalidAffinity", id="weight 0"),
        pytest.param({"affinity": preferred(weight=101, runAffinityTerm=term())}, "InvalidAffinity", id="weight 101"),
        pytest.param({"affinity": preferred(runAffinityTerm=term())}, "InvalidAffinity", id="no weight"),
        pytest.param({"affinity": preferred(weight=1)}, "InvalidAffinity", id="no term"),
        pytest.param(
            {"affinity": preferred(weight="1", runAffinityTerm=term())}, "UnsupportedField", id="weight as text"
        ),
        pytest.param({"workspace": {}}, "InvalidWorkspaceReference", id="no workspace name"),
        pytest.param({"workspace": {"name": "w", "kind": "", "apiGroup": None}}, "Eligible", id="empty kind"),
        pytest.param({"workspace": {"name": "w", "kind": "Other"}}, "UnsupportedField", id="kind"),
        pytest.param({"workspace": {"name": "", "apiGroup": "kruntimes.io/v2"}}, "UnsupportedField", id="apiGroup"),
        pytest.param({"runtime": 7}, "UnsupportedField", id="runtime as number"),
        pytest.param({"timeout": 30}, "UnsupportedField", id="timeout as number"),
        pytest.param({"retryPolicy": {"maxAttempts": "3"}}, "UnsupportedField", id="attempts as text"),
        pytest.param({"workspace": {}, "resources": asks(gpu="x")}, "InvalidResources", id="resources first"),
    ],
)
def test_spec(spec: Json, want_eligibility: str) -> None:
    """What is wrong by every rule known is invalid, what is not known is unsupported, and that one wins."""
    verdict = decide(run(**spec), pod("p1", gpu="1", cpu="1"))
    assert verdict.eligibility == want_eligibility
    assert verdict.considered == (1 if want_eligibility == "Eligible" else 0)


def test_ineligible_run_has_rows() -> None:
    """A terminal or cancelled Run is judged as if it were Pending; one without runtime has no pool."""
    assert decide(active("a", P1, phase="Failed"), P1).chosen == "p1"
    assert decide(run(cancelRequested=True), P1).chosen == "p1"
    assert decide(run(runtime=""), P1).considered == 0


@pytest.mark.parametrize(
    ("rejected", "want_message"),
    [
        pytest.param([], "0/0 runtime pods: NoRuntimePods", id="empty pool"),
        pytest.param(["SkewedClock"], "0/1 runtime pods: 1 SkewedClock", id="one"),
        pytest.param(
            ["InsufficientCapacity", "UnsatisfiedRunAffinity", "UnsatisfiedRunAffinity", "StaleHeartbeat"],
            "0/4 runtime pods: 2 UnsatisfiedRunAffinity, 1 StaleHeartbeat, 1 InsufficientCapacity",
            id="by count, then by the chain",
        ),
    ],
)
def test_waiting_message(rejected: list[str], want_message: str) -> None:
    """The status text counts reasons: most frequent first, equals in the order of the filter chain."""
    assert waiting_message({f"p{i}": ("", reason) for i, reason in enumerate(rejected)}) == want_message


def test_pool_is_one_runtime_of_one_namespace() -> None:
    """Pods of other runtimes and other namespaces are not considered, whatever their name."""
    others = [pod("p1", namespace="y"), pod("n1", runtime="node"), pod("p2")]
    verdict = decide(run(), P1, *others)
    assert (verdict.considered, verdict.feasible, verdict.message) == (2, 2, "")
    assert decide(run(), *others[:2]).message == "0/0 runtime pods: NoRuntimePods"


def test_hypothetical_run_stands_beside_the_world() -> None:
    """A Run that is only asked about counts nobody out, unless it carries the UID of a Run of the world."""
    full = pod("p1", runs="1")
    existing = active("a", full)
    twin = run("a")
    del twin["metadata"]["uid"]
    assert judge([full, existing], AS_OF, ("x", "a"), hypothetical=twin).chosen is None
    assert judge([full, existing], AS_OF, ("x", "a"), hypothetical=run("a")).chosen == "p1"


def test_unknown_run() -> None:
    """A Run that is not in the world can't be judged."""
    with pytest.raises(KeyError):
        judge([P1], AS_OF, ("x", "a"))
