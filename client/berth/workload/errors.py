"""What is wrong with an object, in the words of the Kubernetes API: a kind, a field path and a sentence."""

from dataclasses import dataclass
from enum import StrEnum

_SHOWN = 80


class CauseType(StrEnum):
    """The `reason` of a cause in a Status (metav1.CauseType)."""

    REQUIRED = "FieldValueRequired"
    INVALID = "FieldValueInvalid"
    DUPLICATE = "FieldValueDuplicate"
    FORBIDDEN = "FieldValueForbidden"
    NOT_SUPPORTED = "FieldValueNotSupported"
    TOO_MANY = "FieldValueTooMany"
    TOO_LONG = "FieldValueTooLong"


_WORDS = {
    CauseType.REQUIRED: "Required value",
    CauseType.INVALID: "Invalid value",
    CauseType.DUPLICATE: "Duplicate value",
    CauseType.FORBIDDEN: "Forbidden",
    CauseType.NOT_SUPPORTED: "Unsupported value",
    CauseType.TOO_MANY: "Too many",
    CauseType.TOO_LONG: "Too long",
}


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing that is wrong.

    Attributes:
        reason: what sort of thing.
        field: the exact path, as in `spec.podGroupTemplates[0].name`.
        detail: a sentence for a person; not part of the contract.
        value: the offending value as shown, or None where showing it helps nobody.
    """

    reason: CauseType
    field: str
    detail: str
    value: str | None = None

    @property
    def message(self) -> str:
        """The sentence without the field."""
        words = _WORDS[self.reason]
        return ": ".join(part for part in (words, self.value, self.detail) if part)

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def required(field: str, detail: str = "") -> FieldError:
    """A value is missing, or empty where empty means missing."""
    return FieldError(CauseType.REQUIRED, field, detail)


def invalid(field: str, value: object, detail: str) -> FieldError:
    """A value breaks a rule."""
    return FieldError(CauseType.INVALID, field, detail, _show(value))


def frozen(field: str) -> FieldError:
    """A value differs from the stored one and may not."""
    return FieldError(CauseType.INVALID, field, "field is immutable")


def duplicate(field: str, value: object) -> FieldError:
    """A key is there already."""
    return FieldError(CauseType.DUPLICATE, field, "", _show(value))


def forbidden(field: str, detail: str) -> FieldError:
    """The value may not be there at all."""
    return FieldError(CauseType.FORBIDDEN, field, detail)


def not_supported(field: str, value: object, allowed: tuple[str, ...]) -> FieldError:
    """A value is none of the words that there are."""
    words = ", ".join(f'"{word}"' for word in allowed)
    return FieldError(CauseType.NOT_SUPPORTED, field, f"supported values: {words}", _show(value))


def too_many(field: str, count: int, limit: int) -> FieldError:
    """A list has more items than it may."""
    return FieldError(CauseType.TOO_MANY, field, f"must have at most {limit} items", str(count))


def too_long(field: str, limit: int) -> FieldError:
    """A text has more bytes than it may."""
    return FieldError(CauseType.TOO_LONG, field, f"may not be more than {limit} bytes")


def _show(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        return f'"{value}"' if len(value) <= _SHOWN else f'"{value[:_SHOWN]}..."'
    return str(value)
