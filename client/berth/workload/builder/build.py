"""The builder: from a controller's tree to a Workload, and from a Workload to its groups. It talks to no API server."""

from berth.workload.builder.compile import compile_tree
from berth.workload.builder.errors import BuilderError
from berth.workload.builder.item import WorkloadItem
from berth.workload.builder.options import BuildOptions
from berth.workload.builder.resolve import resolve
from berth.workload.builder.templates import composite_pod_group, find_template, pod_group
from berth.workload.builder.tree import check_tree, limits, walk_items
from berth.workload.builder.validate import tree_errors
from berth.workload.errors import FieldError
from berth.workload.models import (
    CompositePodGroup,
    CompositePodGroupTemplate,
    ObjectMeta,
    OwnerReference,
    PodGroup,
    PodGroupTemplate,
    TypedLocalObjectReference,
    Workload,
    WorkloadSpec,
)


class Builder:
    """Validates, compiles and materialises one workload of a controller.

    The Workload is compiled once: later calls of `build_workload` give the same object. A builder is for one reconcile;
    to follow a changed spec, make a new one. It is not shared between threads.
    """

    __slots__ = ("_options", "_root", "_workload")

    def __init__(self, root: WorkloadItem | None, options: BuildOptions, *, existing: Workload | None = None) -> None:
        """Checks nothing yet. Callers give `root`, or use `from_existing_workload`."""
        self._root = root
        self._options = options
        self._workload = existing

    @classmethod
    def from_existing_workload(cls, workload: Workload, options: BuildOptions | None = None) -> "Builder":
        """A builder of groups only, for a Workload that another controller or a user made. It is never compiled anew.

        Of the options, `owner` and `priority_classes` count.
        """
        return cls(None, options or BuildOptions(), existing=workload)

    def validate(self, old_root: WorkloadItem | None = None) -> list[FieldError]:
        """What is wrong with the user's object, each at its field. Callbacks run.

        Args:
            old_root: the item of the stored object, on update. Only names, inputs and children are read. What did not
                change is not judged again, and what is frozen may not change; children are matched by name below the
                same parent, so one that moved counts as new.

        Raises:
            BuilderError: the tree is no tree, the roots have different names, or there is nothing to validate because
                the builder was made from an existing Workload.
        """
        if self._root is None:
            raise BuilderError("there is no tree: a builder from an existing Workload has nothing to validate")
        if old_root is not None and old_root.name != self._root.name:
            raise BuilderError(f"the old root is {old_root.name!r}, the new one {self._root.name!r}", self._root.path)
        check_tree(self._root)
        return list(tree_errors(self._root, old_root, self._options))

    def build_workload(self) -> Workload:
        """The Workload, ready to create. The same object each time. Does not replace `validate`.

        Raises:
            BuilderError: the first thing that is in the way: the tree, a limit, a gang without count, a preemption
                policy that contradicts its class, no owner, or an owner whose apiVersion is none. Also for a builder
                from an existing Workload.
        """
        if self._root is None:
            raise BuilderError("there is no tree: a builder from an existing Workload builds groups only")
        if self._workload is None:
            self._workload = self._build(self._root)
        return self._workload

    def new_pod_group(self, name: str, template_name: str, *, parent: str | None = None) -> PodGroup:
        """A PodGroup from a leaf template, at any level of the Workload, ready to create.

        Args:
            name: of the group.
            template_name: of the template.
            parent: name of the CompositePodGroup that the group belongs to; None makes it a root of its own.

        Raises:
            BuilderError: no Workload was built yet, it has no such template, or the template contradicts its class.
        """
        workload = self._ready()
        template = find_template(workload, PodGroupTemplate, template_name)
        return pod_group(workload, template, self._metadata(name), parent, self._options.priority_classes)

    def new_composite_pod_group(self, name: str, template_name: str, *, parent: str | None = None) -> CompositePodGroup:
        """A CompositePodGroup from a composite template, at any level. See `new_pod_group`."""
        workload = self._ready()
        template = find_template(workload, CompositePodGroupTemplate, template_name)
        return composite_pod_group(workload, template, self._metadata(name), parent, self._options.priority_classes)

    def _ready(self) -> Workload:
        if self._workload is None:
            raise BuilderError("there is no Workload yet: call build_workload, or use from_existing_workload")
        return self._workload

    def _metadata(self, name: str) -> ObjectMeta:
        owners = () if self._options.owner is None else (self._options.owner,)
        return ObjectMeta(name=name, namespace=self._ready().metadata.namespace, owner_references=owners)

    def _build(self, root: WorkloadItem) -> Workload:
        check_tree(root)
        for item, _, level in walk_items(root):
            for error in limits(item, level, resolve(item)):
                raise BuilderError(error.message, error.field)
        spec = compile_tree(root, self._options.priority_classes)
        if self._options.owner is None:
            raise BuilderError("a Workload needs an owner, so that it goes when its owner goes")
        metadata = ObjectMeta(
            name=self._options.name, namespace=self._options.namespace, owner_references=(self._options.owner,)
        )
        return Workload(metadata=metadata, spec=_with_controller(spec, self._options.owner))


def _with_controller(spec: WorkloadSpec, owner: OwnerReference) -> WorkloadSpec:
    group, _, _ = owner.api_version.rpartition("/")
    if "/" in group:
        raise BuilderError(f"the owner's apiVersion {owner.api_version!r} is none")
    reference = TypedLocalObjectReference(api_group=group, kind=owner.kind, name=owner.name)
    return WorkloadSpec(
        controller_ref=reference,
        pod_group_templates=spec.pod_group_templates,
        composite_pod_group_templates=spec.composite_pod_group_templates,
    )
