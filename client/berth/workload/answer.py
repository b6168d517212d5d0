"""What an API server answers: accepted with the object as stored, or refused with code, reason and causes."""

from dataclasses import dataclass, field
from typing import Any

from berth.workload.errors import FieldError

# metav1.StatusReason of the codes that can occur.
REASONS = {
    400: "BadRequest",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    422: "Invalid",
    500: "",  # a server gives none
}
_SHOWN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to one request.

    Attributes:
        code: the HTTP status: 201 created, 200 updated, or an error.
        reason: `Status.reason` of an error, such as "Invalid"; empty when accepted, and of a 500.
        message: a sentence for a person; empty when accepted.
        causes: what is wrong with which field, of a 422 all of it; each has `field`, `reason` and `message`.
        warnings: what a client should show although the object may be fine, such as unknown fields that were dropped.
        object: the object as it would be stored, as JSON, without what only a server knows (uid, times); None if
            refused.
    """

    code: int
    reason: str = ""
    message: str = ""
    causes: tuple[FieldError, ...] = ()
    warnings: tuple[str, ...] = ()
    object: dict[str, Any] | None = field(default=None, repr=False)

    @property
    def accepted(self) -> bool:
        """Whether the request would succeed."""
        return self.code < 400

    @property
    def verdict(self) -> str:
        """`accepted` or `rejected`."""
        return "accepted" if self.accepted else "rejected"


class Refusal(Exception):  # noqa: N818 - an answer, not a failure
    """The request ends here, with this code."""

    def __init__(self, code: int, message: str, *, reason: str = "", causes: tuple[FieldError, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason or REASONS[code]
        self.message = message
        self.causes = causes

    def answer(self, warnings: tuple[str, ...]) -> Answer:
        """The answer that says so."""
        return Answer(code=self.code, reason=self.reason, message=self.message, causes=self.causes, warnings=warnings)


def invalid_object(kind: str, name: str, causes: tuple[FieldError, ...]) -> Refusal:
    """422: the object breaks rules; all of them are in the causes, the first few in the message."""
    shown = [str(cause) for cause in causes[:_SHOWN]]
    if len(causes) > _SHOWN:
        shown.append(f"and {len(causes) - _SHOWN} more")
    return Refusal(422, f'{kind} "{name[:253]}" is invalid: {"; ".join(shown)}', causes=causes)
