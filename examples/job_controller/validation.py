"""What an admission webhook of the controller would answer: its own rules, then the builder's."""

from collections.abc import Iterator
from dataclasses import replace

from berth.workload import FieldError
from berth.workload.errors import forbidden, frozen, invalid, required
from berth.workload.validation.shapes import unique
from examples.job_controller.job import Job, Part, Scheduling
from examples.job_controller.naming import ROOT
from examples.job_controller.scheduling import builder_of, item_of


def validate_job(new: Job, old: Job | None = None) -> list[FieldError]:
    """Everything that is wrong with how a job wants to be scheduled, on create and on update.

    Roles that have no proper names make no tree, and roles that came or went no comparable one: these are reported
    alone.
    """
    faults = [*_role_names(new.root), *(_fixed_roles(new.root, old.root) if old is not None else ())]
    if faults:
        return faults
    if old is None:
        return [*_counts(new.root), *builder_of(new).validate()]
    before = _comparable(new.root, old.root)
    return [*_counts(new.root), *_fixed_scheduling(new.root, old.root), *builder_of(new).validate(item_of(before))]


def _role_names(root: Part) -> Iterator[FieldError]:
    for role in root.roles:
        if not role.name:
            yield required(f"{role.path}.name")
        elif role.name == ROOT:
            yield invalid(f"{role.path}.name", role.name, "is the name of the whole")
    yield from unique((role.name for role in root.roles), "spec.roles")


def _fixed_roles(new: Part, old: Part) -> Iterator[FieldError]:
    """A Workload's templates are fixed when it is created, so a job's roles are too; their order is not."""
    before = {role.name for role in old.roles}
    yield from (forbidden(role.path, "item may not be added") for role in new.roles if role.name not in before)
    for name in sorted(before - {role.name for role in new.roles}):
        yield forbidden("spec.roles", f"item {name!r} may not be removed")


def _counts(root: Part) -> Iterator[FieldError]:
    """A gang cannot ask for more Pods than the part has, also when the parallelism falls later."""
    for part in root.leaves():
        policy = part.scheduling.scheduling_policy if isinstance(part.scheduling, Scheduling) else None
        count = policy.gang.min_count if policy is not None and policy.gang is not None else None
        if count is not None and count > part.parallelism:
            path = f"{part.path}.scheduling.schedulingPolicy.gang.minCount"
            yield invalid(path, count, f"must not be greater than parallelism, which is {part.parallelism}")


def _fixed_scheduling(new: Part, old: Part) -> Iterator[FieldError]:
    """The field as a whole neither comes nor goes; what may change inside it is the builder's to say."""
    if (new.scheduling is None) != (old.scheduling is None):
        yield frozen(f"{new.path}.scheduling")
    for role, before in _pairs(new, old):
        yield from _fixed_scheduling(role, before)


def _comparable(new: Part, old: Part) -> Part:
    """The old part; where `scheduling` came or went, as the new one has it, because that is reported as a whole."""
    scheduling = old.scheduling if (new.scheduling is None) == (old.scheduling is None) else new.scheduling
    return replace(old, scheduling=scheduling, roles=tuple(_comparable(*pair) for pair in _pairs(new, old)))


def _pairs(new: Part, old: Part) -> Iterator[tuple[Part, Part]]:
    before = {role.name: role for role in old.roles}
    return ((role, before[role.name]) for role in new.roles)
