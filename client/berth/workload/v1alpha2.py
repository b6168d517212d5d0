"""scheduling.k8s.io/v1alpha2, the spelling of Kubernetes v1.36: its own models, and the way to and from ours.

No API server of v1.37 or later serves it, so this translation rests on the documentation and on fixtures alone. It must
not lose anything: what one side cannot say is refused with its field.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

import msgspec

from berth.workload.codec import DecodeError, field_names
from berth.workload.models import (
    Condition,
    DisruptionMode,
    Empty,
    Int32,
    Model,
    ObjectMeta,
    PodGroup,
    PodGroupResourceClaim,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
    PodGroupStatus,
    PodGroupTemplate,
    SchedulingConstraints,
    TypedLocalObjectReference,
    Workload,
    WorkloadReference,
    WorkloadSpec,
)

ModelT = TypeVar("ModelT", bound=Model)

_SCHEDULED = "PodGroupScheduled"
_INITIALLY_SCHEDULED = "PodGroupInitiallyScheduled"
_MODES = {"Pod": DisruptionMode(single=Empty()), "PodGroup": DisruptionMode(all=Empty())}


class NotExpressibleError(ValueError):
    """The version has no words for something that the object says.

    Attributes:
        version: the version asked for.
        field: the field that it cannot say, in the spelling of v1beta1.
    """

    def __init__(self, version: str, field: str) -> None:
        self.version = version
        self.field = field
        super().__init__(f"{version} cannot say {field}")


class TemplateV1alpha2(Model, frozen=True):
    """PodGroupTemplate of v1.36: the disruption mode is a word, and there is no preemption policy."""

    name: str = ""
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()
    disruption_mode: str | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None


class WorkloadSpecV1alpha2(Model, frozen=True):
    """Flat only: composite templates came with v1.37."""

    controller_ref: TypedLocalObjectReference | None = None
    pod_group_templates: tuple[TemplateV1alpha2, ...] = ()


class WorkloadV1alpha2(Model, frozen=True):
    """Workload of v1.36."""

    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpecV1alpha2 = WorkloadSpecV1alpha2()


class TemplateOfWorkload(Model, frozen=True):
    """The one member of `podGroupTemplateRef`."""

    workload_name: str = ""
    pod_group_template_name: str = ""


class TemplateRef(Model, frozen=True):
    """The later `workloadRef`."""

    workload: TemplateOfWorkload | None = None


class PodGroupSpecV1alpha2(Model, frozen=True):
    """PodGroupSpec of v1.36: no parent, no preemption policy."""

    pod_group_template_ref: TemplateRef | None = None
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()
    disruption_mode: str | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None


class PodGroupV1alpha2(Model, frozen=True):
    """PodGroup of v1.36."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpecV1alpha2 = PodGroupSpecV1alpha2()
    status: PodGroupStatus = PodGroupStatus()

    served: ClassVar[frozenset[str]] = frozenset({"spec", "status"})


def workload_from_v1alpha2(old: WorkloadV1alpha2) -> Workload:
    """Say the same in our spelling.

    Raises:
        DecodeError: an unknown disruption mode, or a field that only a later version has.
    """
    templates = tuple(
        _like(PodGroupTemplate, item, f"spec.podGroupTemplates[{index}]", disruption_mode=_mode_from(item, index))
        for index, item in enumerate(old.spec.pod_group_templates)
    )
    spec = _like(WorkloadSpec, old.spec, "spec", pod_group_templates=templates)
    return _like(Workload, old, "", spec=spec)


def pod_group_from_v1alpha2(old: PodGroupV1alpha2) -> PodGroup:
    """Say the same in our spelling.

    Raises:
        DecodeError: an unknown disruption mode, a template reference without `workload`, or a field of later versions.
    """
    ref = None
    if old.spec.pod_group_template_ref is not None:
        workload = old.spec.pod_group_template_ref.workload
        if workload is None or old.spec.pod_group_template_ref.extra:
            raise DecodeError("spec.podGroupTemplateRef", "must have `workload` and nothing else")
        where = "spec.podGroupTemplateRef.workload"
        ref = _like(WorkloadReference, workload, where, template_name=workload.pod_group_template_name)
    spec = _like(PodGroupSpec, old.spec, "spec", workload_ref=ref, disruption_mode=_mode_from(old.spec))
    conditions = tuple(_renamed(item, _SCHEDULED, _INITIALLY_SCHEDULED) for item in old.status.conditions)
    return _like(PodGroup, old, "", spec=spec, status=msgspec.structs.replace(old.status, conditions=conditions))


def workload_to_v1alpha2(new: Workload) -> WorkloadV1alpha2:
    """Say the same in the spelling of v1.36.

    Raises:
        NotExpressibleError: composite templates, a preemption policy, or a disruption mode without exactly one member.
    """
    if new.spec.composite_pod_group_templates:
        raise NotExpressibleError("v1alpha2", "spec.compositePodGroupTemplates")
    templates = []
    for index, item in enumerate(new.spec.pod_group_templates):
        path = f"spec.podGroupTemplates[{index}]"
        _refuse_set(item.preemption_policy, f"{path}.preemptionPolicy")
        mode = _mode_to(item.disruption_mode, f"{path}.disruptionMode")
        templates.append(_like(TemplateV1alpha2, item, path, disruption_mode=mode))
    spec = _like(WorkloadSpecV1alpha2, new.spec, "spec", pod_group_templates=tuple(templates))
    return _like(WorkloadV1alpha2, new, "", spec=spec)


def pod_group_to_v1alpha2(new: PodGroup) -> PodGroupV1alpha2:
    """Say the same in the spelling of v1.36.

    Raises:
        NotExpressibleError: a parent, a preemption policy, a disruption mode without exactly one member, or a condition
            whose type would be read as another one.
    """
    _refuse_set(new.spec.parent_composite_pod_group_name, "spec.parentCompositePodGroupName")
    _refuse_set(new.spec.preemption_policy, "spec.preemptionPolicy")
    ref = None
    if (old := new.spec.workload_ref) is not None:
        target = _like(TemplateOfWorkload, old, "spec.workloadRef", pod_group_template_name=old.template_name)
        ref = TemplateRef(workload=target)
    mode = _mode_to(new.spec.disruption_mode, "spec.disruptionMode")
    spec = _like(PodGroupSpecV1alpha2, new.spec, "spec", pod_group_template_ref=ref, disruption_mode=mode)
    for index, condition in enumerate(new.status.conditions):
        if condition.type == _SCHEDULED:
            raise NotExpressibleError("v1alpha2", f"status.conditions[{index}].type {_SCHEDULED}")
    conditions = tuple(_renamed(item, _INITIALLY_SCHEDULED, _SCHEDULED) for item in new.status.conditions)
    return _like(
        PodGroupV1alpha2, new, "", spec=spec, status=msgspec.structs.replace(new.status, conditions=conditions)
    )


def _like(model: type[ModelT], source: Model, path: str, **changed: Any) -> ModelT:
    """Make a `model` of the fields that it shares with `source`, and of `changed`; unknown fields come along."""
    _refuse_known(source.extra, model, path)
    shared = {name for name in model.__struct_fields__ if name in source.__struct_fields__ and name not in changed}
    return model(**{name: getattr(source, name) for name in shared}, **changed)


def _refuse_known(extra: Mapping[str, Any] | None, model: type[Model], path: str) -> None:
    for name in extra or ():
        if name in field_names(model):  # kept as unknown there, it would become a known field here
            raise DecodeError(f"{path}.{name}" if path else name, "is a field of another version")


def _refuse_set(value: object, field: str) -> None:
    if value is not None:
        raise NotExpressibleError("v1alpha2", field)


def _mode_from(item: TemplateV1alpha2 | PodGroupSpecV1alpha2, index: int | None = None) -> DisruptionMode | None:
    if item.disruption_mode is None:
        return None
    if item.disruption_mode not in _MODES:
        path = "spec" if index is None else f"spec.podGroupTemplates[{index}]"
        raise DecodeError(f"{path}.disruptionMode", "must be Pod or PodGroup")
    return _MODES[item.disruption_mode]


def _mode_to(mode: DisruptionMode | None, field: str) -> str | None:
    if mode is None:
        return None
    for word, same in _MODES.items():
        if mode == same:
            return word
    raise NotExpressibleError("v1alpha2", field)


def _renamed(condition: Condition, old: str, new: str) -> Condition:
    return msgspec.structs.replace(condition, type=new) if condition.type == old else condition
