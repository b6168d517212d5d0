"""Selectors select what Kubernetes' do, and tell unsupported values from invalid ones."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth_server.objects.faults import FaultReason, Faults, InvalidSpec, UnsupportedField
from berth_server.objects.selectors import EVERYTHING, NOTHING, Operator, Requirement, Selector, compile_selector


def compiled(raw: object) -> Selector:
    """The selector of JSON that has no fault."""
    faults = Faults()
    selector = compile_selector(raw, "spec.selector", faults)
    assert faults.first() is None
    assert selector is not None
    return selector


def expression(key: object, operator: object, *values: object) -> dict[str, Any]:
    """One entry of matchExpressions; without values the field is absent."""
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def expressions(*entries: object) -> dict[str, Any]:
    """A selector with these matchExpressions."""
    return {"matchExpressions": list(entries)}


@pytest.mark.parametrize(
    ("raw", "labels", "want"),
    [
        pytest.param(None, {}, False, id="null selects nothing"),
        pytest.param(None, {"a": "b"}, False, id="null selects nothing, with labels"),
        pytest.param({}, {}, True, id="empty selects everything"),
        pytest.param({}, {"a": "b"}, True, id="empty selects everything, with labels"),
        pytest.param({"matchLabels": None, "matchExpressions": None}, {}, True, id="null map and list are absent"),
        pytest.param({"matchLabels": {}, "matchExpressions": []}, {"a": "b"}, True, id="empty map and list"),
        pytest.param({"matchLabels": {"app": "db"}}, {"app": "db", "x": "y"}, True, id="label equal"),
        pytest.param({"matchLabels": {"app": "db"}}, {"app": "web"}, False, id="label differs"),
        pytest.param({"matchLabels": {"app": "db"}}, {}, False, id="label missing"),
        pytest.param({"matchLabels": {"app": ""}}, {"app": ""}, True, id="empty value"),
        pytest.param({"matchLabels": {"app": ""}}, {}, False, id="empty value is not a missing key"),
        pytest.param({"matchLabels": {"a": "1", "b": "2"}}, {"a": "1"}, False, id="labels are ANDed"),
        pytest.param(expressions(expression("a", "In", "1", "2")), {"a": "2"}, True, id="In holds"),
        pytest.param(expressions(expression("a", "In", "1", "2")), {"a": "3"}, False, id="In another value"),
        pytest.param(expressions(expression("a", "In", "1")), {}, False, id="In on a missing key"),
        pytest.param(expressions(expression("a", "NotIn", "1")), {"a": "2"}, True, id="NotIn holds"),
        pytest.param(expressions(expression("a", "NotIn", "1", "2")), {"a": "2"}, False, id="NotIn a value of it"),
        pytest.param(expressions(expression("a", "NotIn", "1")), {}, True, id="NotIn on a missing key"),
        pytest.param(expressions(expression("a", "Exists")), {"a": ""}, True, id="Exists"),
        pytest.param(expressions(expression("a", "Exists")), {"b": "a"}, False, id="Exists on a missing key"),
        pytest.param(expressions(expression("a", "DoesNotExist")), {"a": "1"}, False, id="DoesNotExist"),
        pytest.param(expressions(expression("a", "DoesNotExist")), {}, True, id="DoesNotExist on a missing key"),
        pytest.param(
            expressions({"key": "a", "operator": "Exists", "values": []}), {"a": "1"}, True, id="no values is none"
        ),
        pytest.param(
            expressions({"key": "a", "operator": "Exists", "values": None}), {"a": "1"}, True, id="null values are none"
        ),
        pytest.param(
            {"matchLabels": {"a": "1"}, **expressions(expression("b", "Exists"))},
            {"a": "1"},
            False,
            id="both are ANDed",
        ),
        pytest.param(
            expressions(expression("a", "In", "1"), expression("a", "In", "2")), {"a": "1"}, False, id="a contradiction"
        ),
        pytest.param({"matchLabels": {"a": "1"}, "matchFields": 7}, {"a": "1"}, True, id="unknown fields are ignored"),
    ],
)
def test_matches(raw: object, labels: dict[str, str], want: bool) -> None:  # noqa: FBT001 -- a column of a table
    """A selector selects the labels that meet all its requirements."""
    assert compiled(raw).matches(labels) is want


PATH = "spec.selector"
ENTRY = f"{PATH}.matchExpressions[0]"


@pytest.mark.parametrize(
    ("raw", "want_path", "want_value"),
    [
        pytest.param("a=b", PATH, '"a=b"', id="a string for a selector"),
        pytest.param([], PATH, "[]", id="a list for a selector"),
        pytest.param(False, PATH, "false", id="false is not null"),
        pytest.param({"matchLabels": []}, f"{PATH}.matchLabels", "[]", id="a list for labels"),
        pytest.param({"matchLabels": {"a": 1}}, f"{PATH}.matchLabels.a", "1", id="a number for a label"),
        pytest.param({"matchLabels": {"a": None}}, f"{PATH}.matchLabels.a", "null", id="null for a label"),
        pytest.param({"matchExpressions": {}}, f"{PATH}.matchExpressions", "{}", id="a map for expressions"),
        pytest.param(expressions(None), ENTRY, "null", id="null for an expression"),
        pytest.param(expressions("a"), ENTRY, '"a"', id="a string for an expression"),
        pytest.param(expressions(expression(7, "Exists")), f"{ENTRY}.key", "7", id="a number for a key"),
        pytest.param(expressions(expression("a", "Gt", "1")), f"{ENTRY}.operator", '"Gt"', id="another operator"),
        pytest.param(expressions(expression("a", "in", "1")), f"{ENTRY}.operator", '"in"', id="operator in lower case"),
        pytest.param(expressions({"key": "a"}), f"{ENTRY}.operator", "null", id="no operator"),
        pytest.param(
            expressions(expression("a", ["In"], "1")), f"{ENTRY}.operator", '["In"]', id="a list of operators"
        ),
        pytest.param(
            expressions({"key": "a", "operator": "In", "values": "1"}),
            f"{ENTRY}.values",
            '"1"',
            id="a string of values",
        ),
        pytest.param(expressions(expression("a", "In", "1", 2)), f"{ENTRY}.values[1]", "2", id="a number for a value"),
        pytest.param(expressions(expression("a", "In", None)), f"{ENTRY}.values[0]", "null", id="null for a value"),
        pytest.param(
            expressions(expression("a", "In"), expression("b", "Near")),
            f"{PATH}.matchExpressions[1].operator",
            '"Near"',
            id="outweighs an invalid expression before it",
        ),
        pytest.param(
            {"matchLabels": {"": "x"}, **expressions(expression("b", "Near"))},
            f"{ENTRY}.operator",
            '"Near"',
            id="outweighs an invalid label",
        ),
        pytest.param(
            expressions(expression("", "Near")), f"{ENTRY}.operator", '"Near"', id="outweighs an empty key of its own"
        ),
    ],
)
def test_unsupported(raw: object, want_path: str, want_value: str) -> None:
    """What this version does not know is reported with its path and value, and nothing is compiled."""
    faults = Faults()
    assert compile_selector(raw, PATH, faults) is None
    fault = faults.first()
    assert isinstance(fault, UnsupportedField)
    assert fault.path == want_path
    assert fault.message == f"{want_path}: this version does not support the value {want_value}"


@pytest.mark.parametrize(
    ("raw", "want_path", "want_problem"),
    [
        pytest.param({"matchLabels": {"": "x"}}, f"{PATH}.matchLabels", "a label key is empty", id="empty label"),
        pytest.param(expressions(expression("", "Exists")), ENTRY, "a label key is empty", id="empty key"),
        pytest.param(expressions({"operator": "Exists"}), ENTRY, "a label key is empty", id="no key"),
        pytest.param(expressions(expression(None, "Exists")), ENTRY, "a label key is empty", id="null key"),
        pytest.param(expressions(expression("a", "In")), ENTRY, "operator In needs values", id="In without values"),
        pytest.param(
            expressions(expression("a", "NotIn")), ENTRY, "operator NotIn needs values", id="NotIn without values"
        ),
        pytest.param(
            expressions({"key": "a", "operator": "In", "values": []}),
            ENTRY,
            "operator In needs values",
            id="In of none",
        ),
        pytest.param(
            expressions(expression("a", "Exists", "1")),
            ENTRY,
            "operator Exists takes no values",
            id="Exists with values",
        ),
        pytest.param(
            expressions(expression("a", "DoesNotExist", "1")),
            ENTRY,
            "operator DoesNotExist takes no values",
            id="DoesNotExist with values",
        ),
    ],
)
def test_invalid(raw: object, want_path: str, want_problem: str) -> None:
    """What is wrong by every rule known is reported with its path, and nothing is compiled."""
    faults = Faults()
    assert compile_selector(raw, PATH, faults) is None
    assert faults.first() == InvalidSpec(FaultReason.INVALID_AFFINITY, want_path, f"{want_path}: {want_problem}")


KEYS = st.sampled_from(["a", "b", "c"])
VALUES = st.sampled_from(["", "1", "2"])
LABELS = st.dictionaries(KEYS, VALUES)
VALUED = st.builds(expression, KEYS, st.sampled_from(["In", "NotIn"]), VALUES, VALUES) | st.builds(
    expression, KEYS, st.sampled_from(["Exists", "DoesNotExist"])
)


@given(st.lists(VALUED), LABELS, st.randoms(use_true_random=False))
def test_the_order_of_writing_does_not_count(entries: list[Any], labels: dict[str, str], random: Any) -> None:
    """Selectors that say the same in another order, or twice, are one value."""
    other = entries + entries[:1]
    random.shuffle(other)
    one, two = (
        compiled({"matchLabels": labels, **expressions(*entries)}),
        compiled({"matchLabels": dict(reversed(labels.items())), **expressions(*other)}),
    )
    assert one == two
    assert hash(one) == hash(two)


@given(st.lists(VALUED), LABELS)
def test_requirements_are_anded(entries: list[Any], labels: dict[str, str]) -> None:
    """The whole selects what each part selects."""
    want = all(compiled(expressions(entry)).matches(labels) for entry in entries)
    assert compiled(expressions(*entries)).matches(labels) is want


@given(KEYS, st.frozensets(VALUES, min_size=1), LABELS)
def test_operators_come_in_opposites(key: str, values: frozenset[str], labels: dict[str, str]) -> None:
    """NotIn is the opposite of In, DoesNotExist that of Exists, on every set of labels."""
    for one, opposite, operands in (
        (Operator.IN, Operator.NOT_IN, values),
        (Operator.EXISTS, Operator.DOES_NOT_EXIST, frozenset()),
    ):
        holds = Requirement(key, one, operands).matches(labels)
        assert Requirement(key, opposite, operands).matches(labels) is not holds


def test_the_two_ends() -> None:
    """Null and {} have names, and are different values."""
    assert compiled(None) == NOTHING
    assert compiled({}) == EVERYTHING
    assert NOTHING != EVERYTHING
