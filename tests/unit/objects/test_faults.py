"""Faults keep what weighs most, in messages of bounded size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth_server.objects.faults import FaultReason, Faults, InvalidSpec, UnsupportedField, shown


def test_no_fault() -> None:
    """Nothing reported, nothing found."""
    assert Faults().first() is None


def test_the_first_of_a_kind_stays() -> None:
    """A user mends one thing at a time, from the top."""
    faults = Faults()
    faults.invalid(FaultReason.INVALID_AFFINITY, "spec.a", "is wrong")
    faults.invalid(FaultReason.INVALID_RESOURCES, "spec.b", "is wrong too")
    assert faults.first() == InvalidSpec(FaultReason.INVALID_AFFINITY, "spec.a", "spec.a: is wrong")


def test_unsupported_outweighs_invalid() -> None:
    """An older version must not fail what a newer one may accept."""
    faults = Faults()
    faults.invalid(FaultReason.INVALID_AFFINITY, "spec.a", "is wrong")
    faults.unsupported("spec.b", 7)
    faults.unsupported("spec.c", 8)
    fault = faults.first()
    assert isinstance(fault, UnsupportedField)
    assert (fault.reason, fault.path) == (FaultReason.UNSUPPORTED_FIELD, "spec.b")
    assert fault.message == "spec.b: this version does not support the value 7"


@pytest.mark.parametrize("letter", ["x", "é", "好", "😀"])
def test_messages_are_cut_between_characters(letter: str) -> None:
    """At most 1 KiB of UTF-8, and both the path and the value are still named."""
    faults = Faults()
    faults.unsupported("spec.resources.requests." + letter * 2000, letter * 2000)
    fault = faults.first()
    assert fault is not None
    assert 1000 < len(fault.message.encode()) <= 1024
    assert fault.message.startswith(f"{fault.path}: ")
    assert fault.path.endswith(f"{letter}…")
    assert fault.message.endswith(f"{letter}…")
    assert f'value "{letter}' in fault.message


@pytest.mark.parametrize(
    ("value", "want"),
    [
        pytest.param({"a": [1, None, True, 1.5]}, '{"a":[1,null,true,1.5]}', id="JSON"),
        pytest.param("x" * 200, '"' + "x" * 124 + "…", id="cut"),
        pytest.param(10**5000, "of type int", id="more digits than Python prints"),
        pytest.param("\ud800", "of type str", id="a lone surrogate"),
        pytest.param(object(), "of type object", id="not JSON"),
    ],
)
def test_shown(value: object, want: str) -> None:
    """Every value has a text of bounded size."""
    assert shown(value) == want


def test_depth_does_not_raise() -> None:
    """A value nested deeper than the stack is named by its type."""
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    assert shown(value) == "of type list"


@given(st.text(max_size=2000), st.text(max_size=2000))
def test_any_text_fits(path: str, problem: str) -> None:
    """The bound holds in bytes for any mix of characters."""
    faults = Faults()
    faults.invalid(FaultReason.INVALID_RESOURCES, path, problem)
    fault = faults.first()
    assert fault is not None
    assert len(fault.message.encode()) <= 1024
