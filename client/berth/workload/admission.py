"""Admission of groups: the priority behind a class, and the finalizer that protects a PodGroup.

It runs on create, after defaulting and before validation, so its refusals (403, without causes) hide every error in the
fields. Workloads are never resolved: their templates keep what they say.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

from msgspec.structs import replace

from berth.workload.gates import Gate
from berth.workload.models import AnyObject, CompositePodGroup, ObjectMeta, Pod, PodGroup, PriorityClass
from berth.workload.validation.priority import PREEMPT_LOWER_PRIORITY

ResolvedT = TypeVar("ResolvedT", PodGroup, CompositePodGroup)

FINALIZER = "scheduling.k8s.io/podgroup-protection"


class Forbidden(Exception):  # noqa: N818 - the name of the answer
    """Admission refuses the object: 403 Forbidden."""


def _class(name: str, value: int) -> PriorityClass:
    return PriorityClass(metadata=ObjectMeta(name=name), value=value, preemption_policy=PREEMPT_LOWER_PRIORITY)


# Every cluster has these. They are above what a user may define, so groups cannot use them; Pods can.
SYSTEM_CLASSES = (_class("system-cluster-critical", 2_000_000_000), _class("system-node-critical", 2_000_001_000))

# What holds where no class is named and none is the default.
_NO_CLASS = _class("", 0)


class PriorityClasses:
    """The PriorityClasses of a cluster, the two of the system included."""

    def __init__(self, classes: Iterable[PriorityClass] = ()) -> None:
        self._by_name = {item.name: item for item in (*SYSTEM_CLASSES, *classes)}
        defaults = [item for item in self._by_name.values() if item.global_default]
        # Two defaults are possible after a race. The lowest value wins; of equals, the first name.
        self.default = min(defaults, key=lambda item: (item.value, item.name), default=_NO_CLASS)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def resolve(self, name: str) -> PriorityClass:
        """The class of that name, for an empty name the default.

        Raises:
            Forbidden: there is no such class.
        """
        if not name:
            return self.default
        if name not in self._by_name:
            raise Forbidden(f"no PriorityClass with name {name[:253]} was found")
        return self._by_name[name]


def admit(new: AnyObject, classes: PriorityClasses, gates: frozenset[Gate]) -> AnyObject:
    """Admit an object that is created, with what admission fills in.

    Raises:
        Forbidden: the class is unknown or contradicts the object's number or policy.
    """
    match new:
        case PodGroup():
            return _protected(resolve_priority(new, classes, gates))
        case CompositePodGroup():
            return resolve_priority(new, classes, gates)
        case Pod():
            return _resolved_pod(new, classes)
    return new


def admit_update(new: AnyObject, old: AnyObject) -> AnyObject:
    """A Pod's update that leaves out what admission once filled in keeps it; a group's does not."""
    if not isinstance(new, Pod) or not isinstance(old, Pod):
        return new
    kept: dict[str, Any] = {
        name: getattr(old.spec, name) for name in ("priority", "preemption_policy") if getattr(new.spec, name) is None
    }
    return replace(new, spec=replace(new.spec, **kept))


def resolve_priority(group: ResolvedT, classes: PriorityClasses, gates: frozenset[Gate]) -> ResolvedT:
    """Fill in the class's name and number. A preset number or policy must be the class's; 0 is a number.

    Defaulting ran before, so a group that says nothing says PreemptLowerPriority: a class of policy Never needs Never
    in the group, and a default class of policy Never refuses every group that says nothing.

    Raises:
        Forbidden: see above.
    """
    spec = group.spec
    found = classes.resolve(spec.priority_class_name)
    if spec.priority is not None and spec.priority != found.value:
        raise Forbidden(f"priority {spec.priority} must match {found.value}, the value of the priority class")
    policy = found.preemption_policy or PREEMPT_LOWER_PRIORITY
    if Gate.PREEMPTION_POLICY in gates and spec.preemption_policy not in (None, policy):
        raise Forbidden(f"preemptionPolicy must match {policy}, the policy of the priority class")
    spec = replace(spec, priority_class_name=found.name, priority=found.value)
    if Gate.PREEMPTION_POLICY in gates:
        spec = replace(spec, preemption_policy=policy)
    return replace(group, spec=spec)


def admit_class(new: PriorityClass, classes: PriorityClasses) -> None:
    """Refuse a second default class, on create and on update, after validation.

    Raises:
        Forbidden: another class is the default already.
    """
    if new.global_default and classes.default.name not in ("", new.name):
        raise Forbidden(f"PriorityClass {classes.default.name} is already marked as default")


def _protected(group: PodGroup) -> PodGroup:
    """Every new PodGroup gets the finalizer, dry runs too."""
    meta = group.metadata
    if FINALIZER in meta.finalizers:
        return group
    return replace(group, metadata=replace(meta, finalizers=(*meta.finalizers, FINALIZER)))


def _resolved_pod(pod: Pod, classes: PriorityClasses) -> Pod:
    """Pods are resolved likewise, but have no default policy that could contradict the class."""
    spec = pod.spec
    found = classes.resolve(spec.priority_class_name)
    if spec.priority is not None and spec.priority != found.value:
        raise Forbidden(f"priority {spec.priority} must match {found.value}, the value of the priority class")
    policy = found.preemption_policy or PREEMPT_LOWER_PRIORITY
    if spec.preemption_policy not in (None, policy):
        raise Forbidden(f"preemptionPolicy must match {policy}, the policy of the priority class")
    resolved = replace(spec, priority_class_name=found.name, priority=found.value, preemption_policy=policy)
    return replace(pod, spec=resolved)
