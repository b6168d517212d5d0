"""The spec of a Run is parsed whole: no JSON raises, and what an older version does not know never fails a Run."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth_server.objects.faults import FaultReason, InvalidSpec, UnsupportedField
from berth_server.objects.quantity import MAX_REQUEST
from berth_server.objects.resources import RunSpec
from berth_server.objects.runspec import DEFAULT_REQUESTS, ParsedSpec, parse_spec
from berth_server.objects.selectors import EVERYTHING, NOTHING, Operator, Requirement, Selector

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
APP_DB = Selector((Requirement("app", Operator.IN, frozenset({"db"})),))


def parsed(**spec: Any) -> ParsedSpec:
    """Parse a spec given by its JSON fields."""
    return parse_spec(msgspec.json.decode(msgspec.json.encode(spec), type=RunSpec))


def requests(**units: Any) -> ParsedSpec:
    """Parse a spec that requests these."""
    return parsed(resources={"requests": units})


def term(selector: object = None, **fields: Any) -> dict[str, Any]:
    """A term that selects app=db, unless told otherwise."""
    labels = {"matchLabels": {"app": "db"}} if selector is None else selector
    return {"labelSelector": labels, "topologyKey": "kruntimes.io/runtime-pod", **fields}


def weighted(weight: object = 10, **fields: Any) -> dict[str, Any]:
    """A preferred term."""
    return {"weight": weight, "runAffinityTerm": term(), **fields}


def required_anti(*terms: object) -> ParsedSpec:
    """Parse a spec with these required anti-affinity terms."""
    return parsed(affinity={"runAntiAffinity": {REQUIRED: list(terms)}})


def preferred(*terms: object) -> ParsedSpec:
    """Parse a spec with these preferred affinity terms."""
    return parsed(affinity={"runAffinity": {PREFERRED: list(terms)}})


def test_an_empty_spec_has_defaults() -> None:
    """Absent fields and null ones say the same."""
    want = ParsedSpec(
        runtime="",
        requests=(("runs", 1),),
        required_affinity=(),
        required_anti=(),
        preferred_affinity=(),
        preferred_anti=(),
        uncompiled_anti=0,
        workspace_name=None,
        cancel_requested=False,
        timeout_seconds=None,
        retry_backoff_seconds=1.0,
        fault=None,
    )
    assert parsed() == want
    assert parsed(**dict.fromkeys(RunSpec.__struct_encode_fields__)) == want
    nulls = {
        "resources": {"requests": None},
        "affinity": {"runAffinity": None, "runAntiAffinity": {REQUIRED: None, PREFERRED: None}},
        "retryPolicy": {"backoff": None},
    }
    assert parsed(**nulls) == want


def test_a_full_spec() -> None:
    """Each field is found where the API has it."""
    spec = parsed(
        runtime="py",
        resources={"requests": {"runs": "2", "gpu": 1}, "limits": {"gpu": []}},
        affinity={
            "runAffinity": {REQUIRED: [term()], PREFERRED: [weighted(7)]},
            "runAntiAffinity": {
                REQUIRED: [term({})],
                PREFERRED: [weighted(100), weighted(1, runAffinityTerm=term({}))],
            },
        },
        workspace={"name": "ws", "kind": "PersistentWorkspace", "apiGroup": "kruntimes.io/v1alpha1"},
        cancelRequested=True,
        timeout="1h30m",
        retryPolicy={"maxAttempts": 3, "backoff": "250ms", "retryableReasons": ["OOM"]},
    )
    assert spec == ParsedSpec(
        runtime="py",
        requests=(("gpu", 1), ("runs", 2)),
        required_affinity=(APP_DB,),
        required_anti=(EVERYTHING,),
        preferred_affinity=((7, APP_DB),),
        preferred_anti=((100, APP_DB), (1, EVERYTHING)),
        uncompiled_anti=0,
        workspace_name="ws",
        cancel_requested=True,
        timeout_seconds=5400.0,
        retry_backoff_seconds=0.25,
        fault=None,
    )


def test_equal_specs_are_one_object() -> None:
    """Thousands of Runs of one kind share what was parsed."""
    assert requests(gpu="1", mem="2k") is requests(mem=2000, gpu="1000m")


@pytest.mark.parametrize(
    ("units", "want"),
    [
        pytest.param({}, {"runs": 1}, id="none"),
        pytest.param({"runs": "3"}, {"runs": 3}, id="runs given"),
        pytest.param({"runs": "0"}, {"runs": 1}, id="runs of zero is the default"),
        pytest.param({"runs": None}, {"runs": 1}, id="runs of null is the default"),
        pytest.param({"gpu": "0", "mem": "0Ki"}, {"runs": 1}, id="zeros are ignored"),
        pytest.param({"gpu": None}, {"runs": 1}, id="null is zero"),
        pytest.param({"b": "1", "a": "2", "z": "3"}, {"a": 2, "b": 1, "runs": 1, "z": 3}, id="sorted by name"),
        pytest.param({"mem": "2Ki"}, {"mem": 2048, "runs": 1}, id="suffix"),
        pytest.param({"gpu": "1000m"}, {"gpu": 1, "runs": 1}, id="whole in milli"),
        pytest.param({"gpu": 4}, {"gpu": 4, "runs": 1}, id="JSON integer"),
        pytest.param({"gpu": 4.0}, {"gpu": 4, "runs": 1}, id="JSON number with a point"),
        pytest.param({"gpu": 1e22}, None, id="JSON number above the largest"),
        pytest.param({"gpu": str(MAX_REQUEST)}, {"gpu": MAX_REQUEST, "runs": 1}, id="the largest legal"),
        pytest.param({"gpu": MAX_REQUEST}, {"gpu": MAX_REQUEST, "runs": 1}, id="the largest legal as a number"),
        pytest.param({"gpu": str(MAX_REQUEST + 1)}, None, id="above the largest"),
        pytest.param({"gpu": 10**400}, None, id="a number of 400 digits"),
    ],
)
def test_requests(units: dict[str, Any], want: dict[str, int] | None) -> None:
    """Requests are whole units, sorted, without zeros, runs always among them; None stands for a fault."""
    spec = requests(**units)
    assert spec.requests == (DEFAULT_REQUESTS if want is None else tuple(want.items()))
    assert (spec.fault is None) is (want is not None)


@pytest.mark.parametrize(
    ("value", "want_problem"),
    [
        pytest.param("abc", '"abc" is not a quantity', id="garbage"),
        pytest.param("", '"" is not a quantity', id="empty"),
        pytest.param("1e40", '"1e40" is not a quantity', id="exponent beyond 32"),
        pytest.param("1.5", '"1.5" is not a whole number', id="fractional"),
        pytest.param("500m", '"500m" is not a whole number', id="fractional in milli"),
        pytest.param(0.5, "0.5 is not a whole number", id="fractional JSON number"),
        pytest.param("-1", '"-1" is negative', id="negative"),
        pytest.param(-1, "-1 is negative", id="negative JSON number"),
        pytest.param("-0.5", '"-0.5" is negative', id="negative and fractional"),
        pytest.param("8Ei", '"8Ei" is larger than 9223372036854775807', id="2^63"),
        pytest.param(2**64, "18446744073709551616 is larger than 9223372036854775807", id="2^64 as a number"),
    ],
)
def test_invalid_requests(value: object, want_problem: str) -> None:
    """The message says which request is wrong, shows it, and what would be right."""
    spec = requests(cpu="2", gpu=value)
    assert isinstance(spec.fault, InvalidSpec)
    assert spec.fault.reason is FaultReason.INVALID_RESOURCES
    assert spec.fault.message.startswith(f"spec.resources.requests.gpu: {want_problem}")
    assert spec.requests == DEFAULT_REQUESTS


def test_a_fault_elsewhere_leaves_the_requests() -> None:
    """What an active Run occupies is known even if its affinity is not."""
    spec = parsed(resources={"requests": {"gpu": "2"}}, affinity=7)
    assert spec.requests == (("gpu", 2), ("runs", 1))
    assert isinstance(spec.fault, UnsupportedField)


ANTI = f"spec.affinity.runAntiAffinity.{REQUIRED}"
SOFT = f"spec.affinity.runAffinity.{PREFERRED}"
RUN_AFFINITY = "spec.affinity.runAffinity"


@pytest.mark.parametrize(
    ("spec", "want_path", "want_value"),
    [
        pytest.param(parsed(runtime=7), "spec.runtime", "7", id="a number for the runtime"),
        pytest.param(parsed(resources="2"), "spec.resources", '"2"', id="a string for resources"),
        pytest.param(parsed(resources={"requests": []}), "spec.resources.requests", "[]", id="a list of requests"),
        pytest.param(requests(gpu=True), "spec.resources.requests.gpu", "true", id="a bool for a request"),
        pytest.param(requests(gpu=[1]), "spec.resources.requests.gpu", "[1]", id="a list for a request"),
        pytest.param(
            requests(gpu={"count": 1}), "spec.resources.requests.gpu", '{"count":1}', id="a map for a request"
        ),
        pytest.param(requests(a="-1", b=[]), "spec.resources.requests.b", "[]", id="outweighs an invalid request"),
        pytest.param(parsed(affinity=[]), "spec.affinity", "[]", id="a list for affinity"),
        pytest.param(parsed(affinity={"runAffinity": 1}), RUN_AFFINITY, "1", id="a number for a direction"),
        pytest.param(
            parsed(affinity={"runAffinity": {REQUIRED: {}}}), f"{RUN_AFFINITY}.{REQUIRED}", "{}", id="a map of terms"
        ),
        pytest.param(required_anti(None), f"{ANTI}[0]", "null", id="null for a term"),
        pytest.param(required_anti(term(), "x"), f"{ANTI}[1]", '"x"', id="a string for a term"),
        pytest.param(required_anti(term(topologyKey="zone")), f"{ANTI}[0].topologyKey", '"zone"', id="topology key"),
        pytest.param(required_anti({"labelSelector": {}}), f"{ANTI}[0].topologyKey", "null", id="no topology key"),
        pytest.param(required_anti(term(topologyKey=[])), f"{ANTI}[0].topologyKey", "[]", id="a list of topology keys"),
        pytest.param(required_anti(term([])), f"{ANTI}[0].labelSelector", "[]", id="a list for a selector"),
        pytest.param(required_anti(*[term()] * 33), ANTI, '"33 terms, more than 32"', id="more than 32 required terms"),
        pytest.param(
            preferred(*[weighted()] * 40), SOFT, '"40 terms, more than 32"', id="more than 32 preferred terms"
        ),
        pytest.param(preferred([]), f"{SOFT}[0]", "[]", id="a list for a preferred term"),
        pytest.param(preferred(weighted("5")), f"{SOFT}[0].weight", '"5"', id="a string for a weight"),
        pytest.param(preferred(weighted(5.5)), f"{SOFT}[0].weight", "5.5", id="a fractional weight"),
        pytest.param(preferred(weighted(True)), f"{SOFT}[0].weight", "true", id="a bool for a weight"),
        pytest.param(
            preferred(weighted(runAffinityTerm=1)), f"{SOFT}[0].runAffinityTerm", "1", id="a number for its term"
        ),
        pytest.param(
            preferred(weighted(0, runAffinityTerm=term(topologyKey="zone"))),
            f"{SOFT}[0].runAffinityTerm.topologyKey",
            '"zone"',
            id="outweighs an invalid weight",
        ),
        pytest.param(parsed(workspace="ws"), "spec.workspace", '"ws"', id="a string for a workspace"),
        pytest.param(parsed(workspace={"name": 1}), "spec.workspace.name", "1", id="a number for its name"),
        pytest.param(
            parsed(workspace={"name": "ws", "kind": "Bucket"}), "spec.workspace.kind", '"Bucket"', id="another kind"
        ),
        pytest.param(
            parsed(workspace={"name": "ws", "apiGroup": "v2"}), "spec.workspace.apiGroup", '"v2"', id="another group"
        ),
        pytest.param(
            parsed(workspace={"name": "", "kind": 1}),
            "spec.workspace.kind",
            "1",
            id="outweighs an empty workspace name",
        ),
        pytest.param(parsed(cancelRequested="true"), "spec.cancelRequested", '"true"', id="a string for a bool"),
        pytest.param(parsed(cancelRequested=1), "spec.cancelRequested", "1", id="a number for a bool"),
        pytest.param(parsed(timeout=30), "spec.timeout", "30", id="a number for a duration"),
        pytest.param(parsed(retryPolicy="Never"), "spec.retryPolicy", '"Never"', id="a string for a retry policy"),
        pytest.param(parsed(retryPolicy={"backoff": 5}), "spec.retryPolicy.backoff", "5", id="a number for a backoff"),
        pytest.param(
            parsed(resources={"requests": {"gpu": "-1"}}, retryPolicy=0), "spec.retryPolicy", "0", id="last beats first"
        ),
    ],
)
def test_unsupported(spec: ParsedSpec, want_path: str, want_value: str) -> None:
    """What this version does not know is named by path and value, wherever it is, and outweighs what is invalid."""
    assert isinstance(spec.fault, UnsupportedField)
    assert spec.fault.path == want_path
    assert spec.fault.message == f"{want_path}: this version does not support the value {want_value}"


@pytest.mark.parametrize(
    ("spec", "want_reason", "want_message"),
    [
        pytest.param(
            required_anti(term({"matchExpressions": [{"key": "a", "operator": "In"}]})),
            "InvalidAffinity",
            f"{ANTI}[0].labelSelector.matchExpressions[0]: operator In needs values",
            id="selector",
        ),
        pytest.param(
            preferred(weighted(0)),
            "InvalidAffinity",
            f"{SOFT}[0].weight: a weight is a whole number from 1 to 100",
            id="weight of 0",
        ),
        pytest.param(
            preferred(weighted(1), weighted(101)),
            "InvalidAffinity",
            f"{SOFT}[1].weight: a weight is a whole number from 1 to 100",
            id="weight of 101",
        ),
        pytest.param(
            preferred(weighted(None)),
            "InvalidAffinity",
            f"{SOFT}[0].weight: a weight is a whole number from 1 to 100",
            id="no weight",
        ),
        pytest.param(
            preferred({"weight": 1}),
            "InvalidAffinity",
            f"{SOFT}[0]: a preferred term needs a runAffinityTerm",
            id="no term",
        ),
        pytest.param(
            parsed(workspace={"name": ""}),
            "InvalidWorkspaceReference",
            "spec.workspace.name: a workspace needs a name",
            id="empty workspace name",
        ),
        pytest.param(
            parsed(workspace={}),
            "InvalidWorkspaceReference",
            "spec.workspace.name: a workspace needs a name",
            id="no workspace name",
        ),
    ],
)
def test_invalid(spec: ParsedSpec, want_reason: str, want_message: str) -> None:
    """What is wrong by every rule known is named with its reason."""
    assert isinstance(spec.fault, InvalidSpec)
    assert spec.fault.reason == want_reason
    assert spec.fault.message == want_message


def test_a_term_that_does_not_compile_repels_nobody() -> None:
    """The others of an active Run still do, and the loss is counted."""
    spec = required_anti(term({}), term(topologyKey="zone"), 7, term({"matchLabels": {"": "x"}}), term())
    assert spec.required_anti == (EVERYTHING, APP_DB)
    assert spec.uncompiled_anti == 3


def test_terms_beyond_32_still_repel() -> None:
    """Each term of a list that is too long is understood, so an active Run keeps what it was promised."""
    spec = required_anti(*[term()] * 33)
    assert spec.required_anti == (APP_DB,) * 33
    assert spec.uncompiled_anti == 0


def test_32_terms_are_allowed() -> None:
    """The bound is inclusive, in each list by itself."""
    spec = parsed(affinity={"runAffinity": {REQUIRED: [term()] * 32, PREFERRED: [weighted()] * 32}})
    assert spec.fault is None
    assert spec.required_affinity == (APP_DB,) * 32


def test_a_missing_selector_matches_nothing() -> None:
    """Null and {} are both legal in a term, and mean opposite things."""
    spec = required_anti({"topologyKey": "kruntimes.io/runtime-pod"}, term({}))
    assert spec.fault is None
    assert spec.required_anti == (NOTHING, EVERYTHING)


@pytest.mark.parametrize("value", [None, ""])
def test_workspace_kind_and_group_may_be_left_out(value: str | None) -> None:
    """An empty string is what an absent field becomes in Go."""
    spec = parsed(workspace={"name": "ws", "kind": value, "apiGroup": value})
    assert (spec.fault, spec.workspace_name) == (None, "ws")


@pytest.mark.parametrize(
    ("text", "want_timeout", "want_backoff"),
    [
        pytest.param("90s", 90.0, 90.0, id="given"),
        pytest.param("0s", None, 0.0, id="zero is no limit and no delay"),
        pytest.param("-5s", None, 1.0, id="negative is as if absent"),
        pytest.param("soon", None, 1.0, id="unparsable is as if absent"),
        pytest.param("", None, 1.0, id="empty is as if absent"),
    ],
)
def test_durations_are_lenient(text: str, want_timeout: float | None, want_backoff: float) -> None:
    """Durations only inform: none of them keeps a Run from being placed."""
    spec = parsed(timeout=text, retryPolicy={"backoff": text})
    assert (spec.timeout_seconds, spec.retry_backoff_seconds, spec.fault) == (want_timeout, want_backoff, None)


NAMES = [
    *("runtime", "resources", "requests", "runs", "affinity", "runAffinity", "runAntiAffinity", REQUIRED, PREFERRED),
    *("weight", "runAffinityTerm", "labelSelector", "matchLabels", "matchExpressions", "key", "operator", "values"),
    *("topologyKey", "workspace", "name", "kind", "apiGroup", "cancelRequested", "timeout", "retryPolicy", "backoff"),
]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["1", "1.5", "-1", "1h", "In", "Exists", "kruntimes.io/runtime-pod"])
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=4), inner),
    max_leaves=12,
)
SPECS = st.builds(
    RunSpec,
    runtime=JSON,
    resources=JSON | st.fixed_dictionaries({"requests": JSON}),
    affinity=JSON
    | st.dictionaries(
        st.sampled_from(["runAffinity", "runAntiAffinity"]),
        st.dictionaries(
            st.sampled_from([REQUIRED, PREFERRED]),
            st.lists(
                JSON
                | st.fixed_dictionaries({"labelSelector": JSON, "topologyKey": JSON})
                | st.fixed_dictionaries({"weight": JSON, "runAffinityTerm": JSON})
                | st.builds(
                    lambda entry: term({"matchExpressions": [entry]}), st.dictionaries(st.sampled_from(NAMES), JSON)
                )
            ),
        ),
    ),
    workspace=JSON,
    cancel_requested=JSON,
    timeout=JSON,
    retry_policy=JSON,
)


@given(SPECS)
def test_any_json_has_an_answer(spec: RunSpec) -> None:
    """No JSON raises; what comes out can be hashed and has legal values."""
    got = parse_spec(spec)
    hash(got)
    assert list(got.requests) == sorted(got.requests)
    assert dict(got.requests)["runs"] >= 1
    assert all(0 < units <= MAX_REQUEST for _, units in got.requests)
    assert all(1 <= weight <= 100 for weight, _ in got.preferred_affinity + got.preferred_anti)
    assert got.retry_backoff_seconds >= 0
    assert got.uncompiled_anti == 0 or got.fault is not None


@given(SPECS)
def test_an_unknown_value_makes_every_spec_wait(spec: RunSpec) -> None:
    """Whatever else is wrong, one unsupported value decides."""
    got = parse_spec(msgspec.structs.replace(spec, cancel_requested={"by": "a newer version"}))
    assert isinstance(got.fault, UnsupportedField)
