"""What is wrong with the user's object, at the fields where the user wrote it.

Per item, parents first: what may not change (on update), the structure of each block, the limits of a template, what
the controller does not allow, and what does not go together. The last three judge the resolved config, so what a
default or a callback says is judged like what a user says, at the path of the block.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from berth.workload.builder.compile import preemption_policy_of
from berth.workload.builder.errors import BuilderError
from berth.workload.builder.freeze import changed
from berth.workload.builder.item import Block, PolicyData, SchedulingConfig, WorkloadInput, WorkloadItem
from berth.workload.builder.options import BuildOptions, Frozen, ModeOption, PolicyOption
from berth.workload.builder.resolve import resolve
from berth.workload.builder.tree import ItemAt, limits, walk_items
from berth.workload.errors import CauseType, FieldError, forbidden, frozen, invalid
from berth.workload.gates import ALL
from berth.workload.models import DisruptionMode, PodGroupResourceClaim, PodGroupSchedulingPolicy
from berth.workload.rules import SERVER
from berth.workload.validation import (
    Case,
    validate_constraints_block,
    validate_disruption_mode_block,
    validate_policy_block,
)
from berth.workload.validation.claims import resource_claim

DataT = TypeVar("DataT")
_CREATE = Case(update=False, gates=ALL, rules=SERVER)
Errors = Iterator[FieldError]


def tree_errors(root: WorkloadItem, old_root: WorkloadItem | None, options: BuildOptions) -> Errors:
    """Everything that is wrong in a tree that is one.

    Raises:
        BuilderError: a callback returned no config.
    """
    for place in walk_items(root, old_root):
        for error in _item_errors(place, options):
            yield replace(error, field=error.field.removeprefix("."))  # an item without path has relative ones


def _item_errors(place: ItemAt, options: BuildOptions) -> Errors:
    item, config = place.item, resolve(place.item)
    fixed = frozenset(options.frozen) & (changed(item, place.old) if place.old is not None else frozenset())
    yield from _frozen(item, fixed)
    if options.declarative_validation:
        yield from _structure(item, place.old.input if place.old is not None else WorkloadInput(), fixed)
    yield from limits(item, place.level, config)
    yield from _not_allowed(item, config, options)
    yield from _contradictions(item, config, options)


def _frozen(item: WorkloadItem, parts: frozenset[Frozen]) -> Errors:
    blocks = item.input
    paths = {
        Frozen.POLICY_VARIANT: item.at(blocks.policy),
        Frozen.MIN_GROUP_COUNT: f"{item.at(blocks.policy)}.gang.minGroupCount",
        Frozen.CONSTRAINTS: item.at(blocks.constraints),
        Frozen.DISRUPTION_MODE: item.at(blocks.disruption_mode),
        Frozen.RESOURCE_CLAIMS: item.at(blocks.resource_claims),
    }
    yield from (frozen(path) for part, path in paths.items() if part in parts)


def _structure(item: WorkloadItem, old: WorkloadInput, fixed: frozenset[Frozen]) -> Errors:
    """Each block by itself. One that is frozen and changed has its report already."""
    new = item.input
    if not fixed & {Frozen.POLICY_VARIANT, Frozen.MIN_GROUP_COUNT}:
        yield from _policy(item, old.policy.data)
    if Frozen.CONSTRAINTS not in fixed:
        yield from _block(item, new.constraints, old.constraints, validate_constraints_block)
    if Frozen.DISRUPTION_MODE not in fixed:
        yield from _block(item, new.disruption_mode, old.disruption_mode, validate_disruption_mode_block)
    if Frozen.RESOURCE_CLAIMS not in fixed:
        yield from _claims(item, old.resource_claims.data or ())


def _block(
    item: WorkloadItem, new: Block[DataT], old: Block[DataT], check: Callable[[DataT, str], Sequence[FieldError]]
) -> Errors:
    """A topology list counts as one value: if it changed, all of it is judged."""
    if new.data is not None and new.data != old.data:
        yield from check(new.data, item.at(new))


def _policy(item: WorkloadItem, old: PolicyData | None) -> Errors:
    block = item.input.policy
    if block.data is not None:
        before = validate_policy_block(old, item.at(block)) if old is not None else []
        yield from _news(validate_policy_block(block.data, item.at(block)), before)


def _claims(item: WorkloadItem, old: Sequence[PodGroupResourceClaim]) -> Errors:
    """Claims are matched by name, and keep their index in the report."""
    block = item.input.resource_claims
    stored = {claim.name: claim for claim in old}
    for index, claim in enumerate(block.data or ()):
        path, former = f"{item.at(block)}[{index}]", stored.get(claim.name)
        before = resource_claim(former, path, _CREATE) if former is not None else []
        yield from _news(resource_claim(claim, path, _CREATE), before)


def _news(errors: Iterable[FieldError], before: Iterable[FieldError]) -> Errors:
    """What the stored block breaks too, with the same value at the same field, did not change, and is not judged."""
    known = frozenset(before)
    return (error for error in errors if error not in known)


def _not_allowed(item: WorkloadItem, config: SchedulingConfig, options: BuildOptions) -> Errors:
    for policy in _policies(config.policy):
        if policy not in options.allowed_policies:
            yield forbidden(item.at(item.input.policy), f"the policy `{policy}` is not supported by this controller")
    for mode in _modes(config.disruption_mode):
        if mode not in options.allowed_disruption_modes:
            where = item.at(item.input.disruption_mode)
            yield forbidden(where, f"the disruption mode `{mode}` is not supported by this controller")


def _contradictions(item: WorkloadItem, config: SchedulingConfig, options: BuildOptions) -> Errors:
    if PolicyOption.BASIC in _policies(config.policy) and ModeOption.ALL in _modes(config.disruption_mode):
        yield invalid(item.at(item.input.disruption_mode), "all", "needs the policy `gang`")
    try:
        preemption_policy_of(item, config, options.priority_classes)
    except BuilderError as error:
        yield FieldError(CauseType.INVALID, item.path, error.problem)


def _policies(policy: PodGroupSchedulingPolicy | None) -> list[PolicyOption]:
    """What a policy chooses: basic, if it chooses nothing."""
    if policy is None or policy.gang is None:
        return [PolicyOption.BASIC]
    return [PolicyOption.GANG] if policy.basic is None else [PolicyOption.BASIC, PolicyOption.GANG]


def _modes(mode: DisruptionMode | None) -> list[ModeOption]:
    """What a mode chooses: single, if it chooses nothing."""
    if mode is None or mode.all is None:
        return [ModeOption.SINGLE]
    return [ModeOption.ALL] if mode.single is None else [ModeOption.SINGLE, ModeOption.ALL]
