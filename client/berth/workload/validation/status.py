"""Conditions of PodGroups and CompositePodGroups (metav1.Condition, as apimachinery's ValidateConditions judges it).

Conditions are judged as a whole at every status update, unchanged ones too. Any type is allowed, and True may turn to
False: what a condition may mean is the writers' business.
"""

import re
from collections.abc import Sequence

from berth.workload.errors import invalid, not_supported, required, too_long
from berth.workload.models import Condition
from berth.workload.validation.case import Errors, required_name
from berth.workload.validation.formats import byte_length, label_key
from berth.workload.validation.shapes import unique

MAX_REASON = 1024
MAX_MESSAGE = 32768
STATUSES = ("False", "True", "Unknown")

_REASON = re.compile("[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?")


def conditions(new: Sequence[Condition], path: str) -> Errors:
    """`status.conditions`: no type twice, each condition complete."""
    yield from unique((item.type for item in new), path)
    for index, item in enumerate(new):
        yield from _condition(item, f"{path}[{index}]")


def _condition(new: Condition, path: str) -> Errors:
    yield from required_name(new.type, f"{path}.type", label_key)
    if not new.status:
        yield required(f"{path}.status")
    elif new.status not in STATUSES:
        yield not_supported(f"{path}.status", new.status, STATUSES)
    if new.observed_generation < 0:
        yield invalid(f"{path}.observedGeneration", new.observed_generation, "must not be negative")
    if new.last_transition_time is None:
        yield required(f"{path}.lastTransitionTime")
    yield from _reason(new.reason, f"{path}.reason")
    if byte_length(new.message) > MAX_MESSAGE:
        yield too_long(f"{path}.message", MAX_MESSAGE)


def _reason(reason: str, path: str) -> Errors:
    """`reason`: CamelCase for machines, required. A word that is too long may be badly formed as well."""
    if not reason:
        yield required(path)
        return
    if not _REASON.fullmatch(reason):
        yield invalid(
            path, reason, "must be letters, digits, '_', ',' and ':', start with a letter, not end in ',' or ':'"
        )
    if byte_length(reason) > MAX_REASON:
        yield too_long(path, MAX_REASON)
