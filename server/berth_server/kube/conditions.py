"""`status.conditions` as raw JSON: ours replaced, everybody else's untouched.

A JSON merge patch replaces a list whole, so a patch that names only our condition would delete the others, and one made
from a partial struct would strip keys that this version does not know.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from berth_server.objects.timestamps import format_time


@dataclass(frozen=True, slots=True)
class OwnCondition:
    """A condition that we set. `status` as Kubernetes spells it: True, False, Unknown."""

    type: str
    status: str
    reason: str
    message: str = ""


def with_own(raw: bytes, own: Iterable[OwnCondition], now: datetime) -> list[dict[str, Any]]:
    """Return all conditions of `raw` (a JSON list, null or empty) with `own` set; order is kept, new ones come last.

    `lastTransitionTime` moves only when a status changes (Kubernetes API conventions).
    """
    conditions: list[dict[str, Any]] = (msgspec.json.decode(raw) or []) if raw else []
    for condition in own:
        before = next((each for each in conditions if each.get("type") == condition.type), None)
        moved = before is None or before.get("status") != condition.status
        values = {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message,
            "lastTransitionTime": format_time(now) if moved or before is None else before.get("lastTransitionTime"),
        }
        if before is None:
            conditions.append(values)
        else:
            before.update(values)
    return conditions
