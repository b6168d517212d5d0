"""What every model shares: frozen, snake_case in Python, camelCase in JSON, and room for fields of tomorrow.

Models say what an object *says*, right or wrong: they hold an empty name or a policy without member, so that validation
can report it. They must not judge, default or normalise.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar

import msgspec

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

# metav1.Time: RFC 3339 with whole seconds, always with a time zone.
Time = datetime


class Model(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, repr_omit_defaults=True, rename="camel"):
    """Base of all models.

    Lists are tuples, and `()` is "unset" (the API makes no difference). None is an unset pointer; an empty string is an
    unset plain string. Equality is by value, so two objects are equal when they say the same.
    """

    # Fields that the version has beyond these models, by JSON name: kept on request and written back, never judged.
    extra: Mapping[str, Any] | None = None

    # Attributes that the API server writes even when unset (Go fields without omitempty).
    served: ClassVar[frozenset[str]] = frozenset()

    # The kind has more fields than are modelled: unknown ones are always kept, and never worth a word.
    partial: ClassVar[bool] = False


class Empty(Model, frozen=True):
    """An object without fields, whose presence is the message: `basic: {}`, `single: {}`, `all: {}`."""
