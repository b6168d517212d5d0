"""Random valid objects of scheduling.k8s.io, and random JSON that resembles them."""

import string
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from berth.workload import (
    CompositePodGroup,
    CompositePodGroupSpec,
    CompositePodGroupTemplate,
    Condition,
    ObjectMeta,
    OwnerReference,
    PodGroup,
    PodGroupResourceClaimStatus,
    PodGroupSpec,
    PodGroupStatus,
    PodGroupTemplate,
    TypedLocalObjectReference,
    Workload,
    WorkloadReference,
    WorkloadSpec,
    basic,
    claim,
    composite_basic,
    composite_gang,
    gang,
    single,
    topology,
    whole,
)

_INNER = string.ascii_lowercase + string.digits + "-"
_ENDS = string.ascii_lowercase + string.digits

counts = st.integers(1, 2**31 - 1)
short_names = st.builds(lambda a, b: a + b, st.text(_INNER, max_size=20).map(lambda t: "a" + t), st.sampled_from(_ENDS))
long_names = st.lists(short_names, min_size=1, max_size=3).map(".".join)
qualified_names = st.builds("{}/{}".format, long_names, short_names)
label_keys = short_names | qualified_names
constraints = st.none() | label_keys.map(topology)
modes = st.none() | st.sampled_from([single(), whole()])
policies = st.just(basic()) | counts.map(gang)
composite_policies = st.just(composite_basic()) | counts.map(composite_gang)
preemption = st.none() | st.sampled_from(["Never", "PreemptLowerPriority"])
priorities = st.none() | st.integers(-(2**31), 10**9)
times = st.datetimes(datetime(1000, 1, 1), datetime(9998, 1, 1), timezones=st.just(UTC)).map(  # noqa: DTZ001
    lambda time: time.replace(microsecond=0)
)
claims = st.lists(short_names, max_size=4, unique=True).flatmap(
    lambda names: st.tuples(*(st.builds(_claim, st.just(name), long_names, st.booleans()) for name in names))
)


def _claim(name: str, target: str, by_template: bool) -> Any:  # noqa: FBT001
    return claim(name, template_name=target) if by_template else claim(name, claim_name=target)


metadata = st.builds(
    ObjectMeta,
    name=long_names,
    namespace=st.just("") | short_names,
    uid=st.just("") | st.uuids().map(str),
    generation=st.integers(0, 9),
    creation_timestamp=st.none() | times,
    labels=st.dictionaries(label_keys, st.just("") | short_names, max_size=3),
    annotations=st.dictionaries(label_keys, st.text(max_size=20), max_size=3),
    finalizers=st.lists(qualified_names, max_size=2).map(tuple),
    owner_references=st.lists(
        st.builds(
            OwnerReference,
            api_version=st.sampled_from(["batch/v1", "v1"]),
            kind=st.just("Job"),
            name=long_names,
            uid=st.uuids().map(str),
            controller=st.none() | st.just(False),
        ),
        max_size=2,
    ).map(tuple),
)
references = st.builds(WorkloadReference, workload_name=long_names, template_name=short_names)
conditions = st.lists(
    st.builds(
        Condition,
        type=label_keys,
        status=st.sampled_from(["True", "False", "Unknown"]),
        observed_generation=st.integers(0, 9),
        last_transition_time=times,
        reason=st.sampled_from(["Scheduled", "A,b:c_1"]),
        message=st.text(max_size=20),
    ),
    max_size=3,
    unique_by=lambda condition: condition.type,
).map(tuple)


@st.composite
def workloads(draw: st.DrawFn, *, plain: bool = False) -> Workload:
    """A valid Workload; `plain` ones keep to what v1alpha2 can say."""
    names = draw(st.lists(short_names, min_size=1, max_size=12, unique=True))
    shared = {"priority_class_name": draw(st.just("") | long_names), "priority": draw(priorities)}
    ref = draw(
        st.none()
        | st.builds(TypedLocalObjectReference, api_group=st.just("") | long_names, kind=short_names, name=short_names)
    )
    meta = draw(metadata)
    if plain or draw(st.booleans()):
        leaves = tuple(_leaf(draw, name, shared, plain=plain) for name in names[:8])
        return Workload(metadata=meta, spec=WorkloadSpec(controller_ref=ref, pod_group_templates=leaves))
    roots = []
    while names:
        roots.append(_tree(draw, names, shared, level=1))
    spec = WorkloadSpec(controller_ref=ref, composite_pod_group_templates=tuple(roots[:8]))
    return Workload(metadata=meta, spec=spec)


def _leaf(draw: st.DrawFn, name: str, shared: dict[str, Any], *, plain: bool = False) -> PodGroupTemplate:
    return PodGroupTemplate(
        name=name,
        scheduling_policy=draw(policies),
        scheduling_constraints=draw(constraints),
        resource_claims=draw(claims),
        disruption_mode=draw(modes),
        preemption_policy=None if plain else draw(preemption),
        **shared,
    )


def _tree(draw: st.DrawFn, names: list[str], shared: dict[str, Any], level: int) -> CompositePodGroupTemplate:
    """A composite that takes its own name and its children's off `names`; without a name left, one is made up."""
    name = names.pop()
    leaves, nested = [], []
    for _ in range(draw(st.integers(0, 3))):
        if names and level < 3 and draw(st.booleans()):
            nested.append(_tree(draw, names, shared, level + 1))
        elif names:
            leaves.append(_leaf(draw, names.pop(), shared))
    if not leaves and not nested:
        leaves.append(_leaf(draw, f"leaf-of-{name}", shared))
    return CompositePodGroupTemplate(
        name=name,
        scheduling_policy=draw(composite_policies),
        scheduling_constraints=draw(constraints),
        disruption_mode=draw(modes),
        preemption_policy=draw(preemption),
        pod_group_templates=tuple(leaves),
        composite_pod_group_templates=tuple(nested),
        **shared,
    )


@st.composite
def pod_groups(draw: st.DrawFn, *, plain: bool = False) -> PodGroup:
    """A valid PodGroup with a status; `plain` ones keep to what v1alpha2 can say."""
    parent = None if plain else draw(st.none() | long_names)
    own_claims = draw(claims)
    statuses = tuple(
        PodGroupResourceClaimStatus(name=item.name, resource_claim_name=draw(st.none() | long_names))
        for item in own_claims
    )
    return PodGroup(
        metadata=draw(metadata),
        spec=PodGroupSpec(
            parent_composite_pod_group_name=parent,
            workload_ref=draw(references if parent else st.none() | references),
            scheduling_policy=draw(policies),
            scheduling_constraints=draw(constraints),
            resource_claims=own_claims,
            disruption_mode=draw(modes),
            priority_class_name=draw(st.just("") | long_names),
            priority=draw(priorities),
            preemption_policy=None if plain else draw(preemption),
        ),
        status=PodGroupStatus(conditions=draw(conditions), resource_claim_statuses=statuses),
    )


composite_pod_groups = st.builds(
    CompositePodGroup,
    metadata=metadata,
    spec=st.builds(
        CompositePodGroupSpec,
        parent_composite_pod_group_name=st.none() | long_names,
        workload_ref=references,
        scheduling_policy=composite_policies,
        scheduling_constraints=constraints,
        disruption_mode=modes,
        priority_class_name=st.just("") | long_names,
        priority=priorities,
        preemption_policy=preemption,
    ),
)

any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


@st.composite
def damaged(draw: st.DrawFn, body: dict[str, Any]) -> Any:
    """The object with some values replaced by arbitrary JSON, taken away, or put in twice."""
    for _ in range(draw(st.integers(1, 4))):
        holder, place = draw(st.sampled_from(list(_places(body)) or [(body, "spec")]))
        match draw(st.sampled_from(["replace", "remove", "repeat"])):
            case "replace":
                holder[place] = draw(any_json)
            case "remove":
                del holder[place]
            case "repeat" if isinstance(holder, list):
                holder.extend(holder[place : place + 1] * draw(st.integers(1, 9)))
            case _:
                holder[place] = [holder[place]]
    return body


def _places(value: Any) -> Any:
    """Every holder and key or index in a JSON value."""
    if isinstance(value, dict | list):
        for place in value if isinstance(value, dict) else range(len(value)):
            yield value, place
            yield from _places(value[place])
