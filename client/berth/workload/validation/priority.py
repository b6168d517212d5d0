"""priorityClassName, priority and preemptionPolicy: the same rules in templates and in groups; none may change.

Whether a class exists and agrees with the number is not decided here but by admission, and only for groups.
"""

from berth.workload.errors import forbidden, frozen, invalid, not_supported
from berth.workload.gates import Gate
from berth.workload.validation.case import Case, Errors, formatted
from berth.workload.validation.formats import long_name

# HighestUserDefinablePriority: above are the system classes, which groups cannot use.
MAX_PRIORITY = 1_000_000_000
NEVER = "Never"
PREEMPT_LOWER_PRIORITY = "PreemptLowerPriority"
PREEMPTION_POLICIES = (NEVER, PREEMPT_LOWER_PRIORITY)


def priority_class_name(new: str, old: str, path: str, case: Case) -> Errors:
    """`priorityClassName`: a long name, or empty for none."""
    if case.same(new, old):
        return
    if case.update:
        yield frozen(path)
    elif new:
        yield from formatted(new, path, long_name)


def priority(new: int | None, old: int | None, path: str, case: Case) -> Errors:
    """`priority`: at most 1000000000; there is no lower bound."""
    if case.same(new, old):
        return
    if case.update:
        yield frozen(path)
    elif new is not None and new > MAX_PRIORITY:
        yield invalid(path, new, f"must be less than or equal to {MAX_PRIORITY}")


def preemption_policy(new: str | None, old: str | None, path: str, case: Case) -> Errors:
    """`preemptionPolicy`: Never or PreemptLowerPriority; while its gate is closed it may not be given (KEP-5710)."""
    if case.same(new, old):
        return
    closed = Gate.PREEMPTION_POLICY not in case.gates and new is not None
    if closed:
        yield forbidden(path, f"may not be set while the feature gate {Gate.PREEMPTION_POLICY} is closed")
    if case.update:
        yield frozen(path)
    elif new is not None and not closed and new not in PREEMPTION_POLICIES:
        yield not_supported(path, new, PREEMPTION_POLICIES)
