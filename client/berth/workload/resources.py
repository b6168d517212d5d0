"""The kinds that can be reviewed: where each is served, how it is judged, and which half of it an update may touch."""

from dataclasses import dataclass
from typing import assert_never

from msgspec.structs import replace

from berth.workload.gates import Gate
from berth.workload.gating import drop_hidden_status
from berth.workload.models import AnyObject, CompositePodGroup, Pod, PodGroup, PriorityClass, Workload
from berth.workload.validation import objects
from berth.workload.validation.case import Case, Errors
from berth.workload.validation.neighbours import pod_link, priority_class
from berth.workload.versions import GROUP


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One kind. `api_version` is None where the request's version decides."""

    model: type[AnyObject]
    api_version: str | None = None
    versions: tuple[str, ...] = ()
    gates: tuple[Gate, ...] = ()
    has_status: bool = False
    unconditional: bool = False  # updates need no resourceVersion

    @property
    def kind(self) -> str:
        """The `kind` of its objects."""
        return self.model.__name__

    def api_version_in(self, version: str) -> str:
        """The `apiVersion` of an object in a request of this version."""
        return self.api_version or f"{GROUP}/{version}"

    def served(self, version: str, gates: frozenset[Gate]) -> bool:
        """Whether an API server of v1.37 with these gates knows the kind in this version."""
        return (self.api_version is not None or version in self.versions) and set(self.gates) <= gates


RESOURCES = {
    "Workload": Resource(model=Workload, versions=("v1beta1", "v1alpha3"), gates=(Gate.GENERIC_WORKLOAD,)),
    "PodGroup": Resource(
        model=PodGroup, versions=("v1beta1", "v1alpha3"), gates=(Gate.GENERIC_WORKLOAD,), has_status=True
    ),
    "CompositePodGroup": Resource(
        model=CompositePodGroup,
        versions=("v1alpha3",),
        gates=(Gate.GENERIC_WORKLOAD, Gate.COMPOSITE),
        has_status=True,
    ),
    "PriorityClass": Resource(model=PriorityClass, api_version=f"{GROUP}/v1", unconditional=True),
    "Pod": Resource(model=Pod, api_version="v1", unconditional=True),
}


def without_status(new: AnyObject) -> AnyObject:
    """A status that comes along on create is dropped unjudged."""
    match new:
        case PodGroup():
            return replace(new, status=PodGroup().status)
        case CompositePodGroup():
            return replace(new, status=CompositePodGroup().status)
    return new


def without_system_fields(new: AnyObject) -> AnyObject:
    """Metadata that a server sets itself is wiped on create (apiserver's WipeObjectMetaSystemFields).

    The kinds of groups have no generation of their own, so theirs stays what it is; a PriorityClass has no namespace.
    """
    meta = replace(
        new.metadata,
        uid="",
        creation_timestamp=None,
        deletion_timestamp=None,
        deletion_grace_period_seconds=None,
        self_link="",
        generation=1 if isinstance(new, Pod | PriorityClass) else new.metadata.generation,
        namespace="" if isinstance(new, PriorityClass) else new.metadata.namespace,
    )
    return replace(new, metadata=meta)


def with_stored_status(new: AnyObject, old: AnyObject) -> AnyObject:
    """An update of the object leaves the stored status as it is."""
    if isinstance(new, PodGroup) and isinstance(old, PodGroup):
        return replace(new, status=old.status)
    if isinstance(new, CompositePodGroup) and isinstance(old, CompositePodGroup):
        return replace(new, status=old.status)
    return new


def with_stored_rest(new: AnyObject, old: AnyObject, gates: frozenset[Gate]) -> AnyObject:
    """An update of the status leaves everything else as it is stored."""
    meta = replace(old.metadata, resource_version=new.metadata.resource_version)
    if isinstance(new, PodGroup) and isinstance(old, PodGroup):
        return drop_hidden_status(replace(new, spec=old.spec, metadata=meta), gates)
    if isinstance(new, CompositePodGroup) and isinstance(old, CompositePodGroup):
        return replace(new, spec=old.spec, metadata=meta)
    raise TypeError(type(new).__name__)


def with_stored_metadata(new: AnyObject, old: AnyObject) -> AnyObject:
    """What an update takes from the stored metadata instead of judging it (apiserver's BeforeUpdate)."""
    was = old.metadata
    meta = replace(
        new.metadata,
        namespace=new.metadata.namespace or was.namespace,
        uid=new.metadata.uid or was.uid,
        generation=was.generation,
        creation_timestamp=was.creation_timestamp,
        deletion_timestamp=was.deletion_timestamp or new.metadata.deletion_timestamp,
        self_link="",
    )
    if meta.deletion_grace_period_seconds is None:
        meta = replace(meta, deletion_grace_period_seconds=was.deletion_grace_period_seconds)
    return replace(new, metadata=replace(meta, resource_version=meta.resource_version or was.resource_version))


def judge(new: AnyObject, old: AnyObject | None, case: Case, *, status: bool) -> Errors:
    """All that is wrong, on create (`old` is None), on update, or on an update of the status."""
    match new:
        case Workload():
            return objects.workload(new, old if isinstance(old, Workload) else None, case)
        case PodGroup():
            was = old if isinstance(old, PodGroup) else None
            return objects.pod_group_status(new, was) if status and was else objects.pod_group(new, was, case)
        case CompositePodGroup():
            before = old if isinstance(old, CompositePodGroup) else None
            if status and before:
                return objects.composite_pod_group_status(new, before)
            return objects.composite_pod_group(new, before, case)
        case PriorityClass():
            return priority_class(new, old if isinstance(old, PriorityClass) else None)
        case Pod():
            return pod_link(new, old if isinstance(old, Pod) else None)
    assert_never(new)
