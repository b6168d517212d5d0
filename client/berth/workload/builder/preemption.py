"""The preemption policy of a template or a group, in agreement with its PriorityClass.

Admission refuses a group whose policy is not that of its class, and a group that says nothing says
PreemptLowerPriority: a class of policy Never needs Never in the group. Who knows the classes can say it in time,
before the template is stored and can no longer change.
"""

from berth.workload.admission import Forbidden, PriorityClasses
from berth.workload.builder.errors import BuilderError
from berth.workload.validation.priority import PREEMPT_LOWER_PRIORITY


def agreed_policy(class_name: str, policy: str | None, classes: PriorityClasses | None) -> str | None:
    """The policy to write: the one given, else that of the class, else none.

    Args:
        class_name: empty for the cluster's default class, if there is one.
        policy: what was said, None for nothing.
        classes: of the cluster; None if the caller does not know them.

    Raises:
        BuilderError: there is no such class, or `policy` contradicts it.
    """
    if classes is None:
        return policy
    try:
        found = classes.resolve(class_name)
    except Forbidden as unknown:
        raise BuilderError(str(unknown)) from None
    wanted = found.preemption_policy or PREEMPT_LOWER_PRIORITY
    if policy not in (None, wanted):
        named = f"of PriorityClass {found.name!r}" if found.name else "where there is no PriorityClass"
        raise BuilderError(f"preemptionPolicy {policy!r} contradicts {wanted!r}, the policy {named}")
    return wanted if found.name else policy
