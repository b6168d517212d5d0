"""Passes of the example controller over jobs: what it creates, in which order, and what it leaves alone."""

import logging
from typing import Any

import pytest
from msgspec.structs import replace

from berth.workload import (
    CompositePodGroup,
    ObjectMeta,
    OwnerReference,
    PodGroup,
    PriorityClass,
    PriorityClasses,
    TypedLocalObjectReference,
    Workload,
    WorkloadReference,
    basic,
    composite_gang,
)
from berth.workload import gang as gang_policy
from berth.workload.models import Pod, PodSchedulingGroup
from examples.job_controller.client import ApiError, Conflict
from examples.job_controller.controller import Controller, NotReadyError
from examples.job_controller.counts import with_counts
from examples.job_controller.discovery import TEMPLATE_ANNOTATION, Management, management_of
from examples.job_controller.job import Job
from examples.job_controller.scheduling import builder_of
from tests.fakes.api_server import FakeApiServer
from tests.unit.examples.jobs import TEMPLATE, gang, job, rack, role, tree

FLAT = {"parallelism": 2, "scheduling": {"schedulingPolicy": gang(), "schedulingConstraints": rack()}}
TREE = tree(role("workers", 2, schedulingPolicy=gang()), role("driver"), scheduling={"schedulingPolicy": {"gang": {}}})
PARENT = {"apiVersion": "batch.example.com/v1", "kind": "JobSet", "name": "set", "uid": "set-uid", "controller": True}


def _kinds(server: FakeApiServer) -> list[str]:
    return [" ".join(line.split()[:2]) for line in server.writes]


def _links(server: FakeApiServer) -> list[str | None]:
    groups = [pod.spec.scheduling_group for pod in server.list(Pod, "ml")]
    return [group.pod_group_name if group else None for group in groups]


def _count(group: PodGroup) -> int | None:
    return group.spec.scheduling_policy.gang.min_count if group.spec.scheduling_policy.gang else None


def test_a_new_job_gets_workload_then_group_then_pods() -> None:
    """One of each in this order; every Pod is linked, and a second pass has nothing to do."""
    server = FakeApiServer()
    Controller(server).reconcile(job(FLAT))
    assert _kinds(server) == ["create Workload", "create PodGroup", "create Pod", "create Pod"]
    (workload,), (group,) = server.list(Workload, "ml"), server.list(PodGroup, "ml")
    assert workload.spec.controller_ref == TypedLocalObjectReference(
        api_group="training.example.com", kind="TrainingJob", name="training"
    )
    assert [template.name for template in workload.spec.pod_group_templates] == ["training-pgt-0"]
    assert group.spec.scheduling_policy == gang_policy(2)
    assert [(owner.kind, owner.controller) for owner in group.metadata.owner_references] == [
        ("TrainingJob", True),
        ("Workload", None),
    ]
    assert _links(server) == [group.metadata.name] * 2
    server.writes.clear()
    Controller(server).reconcile(job(FLAT))
    assert server.writes == []


def test_a_job_that_says_nothing_is_a_basic_group() -> None:
    """Every job has its group, so that all are seen alike."""
    server = FakeApiServer()
    Controller(server).reconcile(job())
    (group,) = server.list(PodGroup, "ml")
    assert group.spec.scheduling_policy == basic()
    assert _links(server) == [group.metadata.name]


def test_a_job_with_roles_gets_a_tree() -> None:
    """The composite group before its children, and each Pod linked to the group of its role."""
    server = FakeApiServer()
    Controller(server).reconcile(job(TREE))
    assert _kinds(server)[:4] == ["create Workload", "create CompositePodGroup", "create PodGroup", "create PodGroup"]
    (root,) = server.list(CompositePodGroup, "ml")
    assert root.spec.scheduling_policy == composite_gang(2)
    groups = {
        group.spec.workload_ref.template_name: group for group in server.list(PodGroup, "ml") if group.spec.workload_ref
    }
    assert {name: group.spec.parent_composite_pod_group_name for name, group in groups.items()} == {
        "workers": root.metadata.name,
        "driver": root.metadata.name,
    }
    names = {name: group.metadata.name for name, group in groups.items()}
    assert sorted(filter(None, _links(server))) == sorted([names["workers"], names["workers"], names["driver"]])


@pytest.mark.parametrize("broken", ["Workload", "CompositePodGroup", "PodGroup", "Pod "])
def test_a_failure_anywhere_is_completed_by_the_next_pass(broken: str) -> None:
    """The order of what is stored is the same, with or without a failure in between, and nothing is made twice."""
    server, undisturbed = FakeApiServer(), FakeApiServer()
    server.broken = f"create {broken}"
    with pytest.raises(ApiError, match="500"):
        Controller(server).reconcile(job(TREE))
    server.broken = None
    Controller(server).reconcile(job(TREE))
    Controller(undisturbed).reconcile(job(TREE))
    assert server.writes == undisturbed.writes


@pytest.mark.parametrize(
    "started",
    [
        pytest.param({"startTime": "2026-09-01T00:00:00Z"}, id="started"),
        pytest.param({"succeeded": 1}, id="a-pod-succeeded"),
        pytest.param({"failed": 1}, id="a-pod-failed"),
        pytest.param({"conditions": [{"type": "Suspended", "status": "False"}]}, id="was-suspended"),
    ],
)
def test_a_job_that_ever_started_gets_no_groups(started: dict[str, Any]) -> None:
    """It began without, and its Pods cannot join."""
    server = FakeApiServer()
    Controller(server).reconcile(job(FLAT, status=started))
    assert _kinds(server) == ["create Pod", "create Pod"]
    assert _links(server) == [None, None]


def test_a_job_with_pods_gets_no_groups() -> None:
    """The same, where the status is behind."""
    server = FakeApiServer()
    one = job({**FLAT, "parallelism": 1}, status={"succeeded": 1})
    Controller(server).reconcile(one)
    Controller(server).reconcile(job(FLAT))
    assert _kinds(server) == ["create Pod", "create Pod"]


def test_a_running_job_uses_the_groups_that_it_has() -> None:
    """A Pod that is made anew is linked like the one before it."""
    server = FakeApiServer()
    Controller(server).reconcile(job(FLAT))
    (pod, _) = server.list(Pod, "ml")
    server.delete(Pod, "ml", pod.metadata.name)
    Controller(server).reconcile(job(FLAT, status={"startTime": "2026-09-01T00:00:00Z"}))
    assert len(set(_links(server))) == 1
    assert len(_links(server)) == 2


def test_objects_of_others_are_neither_used_nor_touched() -> None:
    """A Workload and a group that name the job, but that the job does not own, are the user's business."""
    mine = builder_of(job(FLAT)).build_workload()
    theirs = replace(mine, metadata=ObjectMeta(name="byo", namespace="ml"))
    server = FakeApiServer(theirs)
    foreign = PodGroup(
        metadata=ObjectMeta(name="byo", namespace="ml"),
        spec=replace(
            PodGroup().spec,
            scheduling_policy=gang_policy(7),
            workload_ref=WorkloadReference(workload_name=mine.metadata.name, template_name="training-pgt-0"),
        ),
    )
    server.create(foreign)
    server.writes.clear()
    Controller(server).reconcile(job(FLAT))
    assert _kinds(server) == ["create Workload", "create PodGroup", "create Pod", "create Pod"]
    assert "byo" not in _links(server)
    assert _count(server.get(PodGroup, "ml", "byo")) == 7


def test_a_name_that_is_taken_is_no_match() -> None:
    """Discovery goes by owner, so the pass fails until somebody looks; it does not adopt."""
    mine = builder_of(job(FLAT)).build_workload()
    server = FakeApiServer(replace(mine, metadata=replace(mine.metadata, owner_references=())))
    with pytest.raises(Conflict):
        Controller(server).reconcile(job(FLAT))
    assert server.writes == []


def test_two_workloads_mean_plain_scheduling(caplog: pytest.LogCaptureFixture) -> None:
    """Guessing would be worse; it is logged."""
    mine = builder_of(job(FLAT)).build_workload()
    server = FakeApiServer(mine, replace(mine, metadata=replace(mine.metadata, name="second")))
    with caplog.at_level(logging.WARNING):
        Controller(server).reconcile(job(FLAT))
    assert _links(server) == [None, None]
    assert "has 2 of Workloads" in caplog.text


def test_two_groups_of_a_template_mean_plain_scheduling(caplog: pytest.LogCaptureFixture) -> None:
    """The same, one level below."""
    server = FakeApiServer()
    server.broken = "create Pod "
    with pytest.raises(ApiError):
        Controller(server).reconcile(job(FLAT))
    server.broken = None
    (group,) = server.list(PodGroup, "ml")
    server.create(replace(group, metadata=replace(group.metadata, name="second", resource_version="", uid="")))
    with caplog.at_level(logging.WARNING):
        Controller(server).reconcile(job(FLAT))
    assert _links(server) == [None, None]
    assert "has 2 of groups of template training-pgt-0" in caplog.text


def test_children_of_an_ambiguous_group_are_not_made(caplog: pytest.LogCaptureFixture) -> None:
    """Without their parent they would be roots of their own; all Pods go without a group."""
    server = FakeApiServer()
    server.broken = "create PodGroup"
    with pytest.raises(ApiError):
        Controller(server).reconcile(job(TREE))
    server.broken = None
    (root,) = server.list(CompositePodGroup, "ml")
    server.create(replace(root, metadata=replace(root.metadata, name="second", resource_version="", uid="")))
    with caplog.at_level(logging.WARNING):
        Controller(server).reconcile(job(TREE))
    assert server.list(PodGroup, "ml") == []
    assert _links(server) == [None, None, None]
    assert "has 2 of groups of template root" in caplog.text


def test_a_group_of_another_workload_is_no_match() -> None:
    """The job owns it, but it is not of the Workload at hand."""
    server = FakeApiServer()
    Controller(server).reconcile(job(FLAT))
    (group,) = server.list(PodGroup, "ml")
    reference = WorkloadReference(workload_name="former", template_name="training-pgt-0")
    for name, workload_ref in (("former", reference), ("alone", None)):
        metadata = replace(group.metadata, name=name, resource_version="", uid="")
        server.create(replace(group, metadata=metadata, spec=replace(group.spec, workload_ref=workload_ref)))
    Controller(server).reconcile(job({**FLAT, "parallelism": 3}))
    assert _links(server) == [group.metadata.name] * 3


def test_a_gang_of_a_job_without_pods_has_a_count(caplog: pytest.LogCaptureFixture) -> None:
    """Parallelism may be 0, a count may not. Nothing is odd about it, so nothing is logged as odd."""
    server = FakeApiServer()
    with caplog.at_level(logging.WARNING):
        Controller(server).reconcile(job({**FLAT, "parallelism": 0}))
        Controller(server).reconcile(job({**FLAT, "parallelism": 0}))
    assert [_count(group) for group in server.list(PodGroup, "ml")] == [1]
    assert caplog.text == ""


def test_counts_change_gangs_only() -> None:
    """A policy never changes its variant, whatever count there is for its name."""
    workload = builder_of(job({"roles": [role("a"), role("b", 2, schedulingPolicy=gang())]})).build_workload()
    (root,) = with_counts(workload, {"a": 7, "b": 7}).spec.composite_pod_group_templates
    assert [leaf.scheduling_policy for leaf in root.pod_group_templates] == [basic(), gang_policy(7)]


def test_a_workload_of_another_shape_is_an_error() -> None:
    """It is tried again, and a person sees why; Pods wait."""
    mine = builder_of(job(TREE)).build_workload()
    server = FakeApiServer(mine)
    with pytest.raises(NotReadyError, match="has the templates driver, root, workers"):
        Controller(server).reconcile(job(FLAT))
    assert server.writes == []


@pytest.mark.parametrize(
    ("spec", "changed"),
    [
        pytest.param(FLAT, {**FLAT, "parallelism": 5}, id="alone"),
        pytest.param(
            TREE,
            tree(
                role("workers", 5, schedulingPolicy=gang()),
                role("driver"),
                scheduling={"schedulingPolicy": {"gang": {}}},
            ),
            id="in-a-tree",
        ),
    ],
)
def test_a_changed_count_reaches_workload_and_group(spec: dict[str, Any], changed: dict[str, Any]) -> None:
    """Also of a running job; nothing else is written, and the update is made from what is stored."""
    server = FakeApiServer(classes=[PriorityClass(metadata=ObjectMeta(name="d"), value=7, global_default=True)])
    Controller(server).reconcile(job(spec))
    server.writes.clear()
    Controller(server).reconcile(job(changed, status={"startTime": "2026-09-01T00:00:00Z"}))
    assert _kinds(server)[:2] == ["replace Workload", "replace PodGroup"]
    assert set(_kinds(server)[2:]) == {"create Pod"}
    assert 5 in [_count(group) for group in server.list(PodGroup, "ml")]


DELEGATED = {"ownerReferences": [PARENT], "annotations": {TEMPLATE_ANNOTATION: "workers"}}


def _parent_workload(*names: str) -> Workload:
    spec = {"roles": [role(name, 4, schedulingPolicy=gang()) for name in names]}
    compiled = builder_of(job(spec)).build_workload()
    (root,) = compiled.spec.composite_pod_group_templates
    reference = TypedLocalObjectReference(api_group="batch.example.com", kind="JobSet", name="set")
    return Workload(
        metadata=ObjectMeta(name="set", namespace="ml"),
        spec=replace(
            compiled.spec,
            controller_ref=reference,
            pod_group_templates=root.pod_group_templates,
            composite_pod_group_templates=(),
        ),
    )


def test_a_delegated_job_gets_its_pod_group_only() -> None:
    """Owned by the job alone, without a parent group, and its count follows the template of the Workload above."""
    server = FakeApiServer(_parent_workload("workers", "driver"))
    Controller(server).reconcile(job({"parallelism": 1}, metadata=DELEGATED))
    assert _kinds(server) == ["create PodGroup", "create Pod"]
    (group,) = server.list(PodGroup, "ml")
    assert group.spec.workload_ref == WorkloadReference(workload_name="set", template_name="workers")
    assert [owner.kind for owner in group.metadata.owner_references] == ["TrainingJob"]
    assert (_count(group), group.spec.parent_composite_pod_group_name) == (4, None)
    assert _links(server) == [group.metadata.name]
    server.replace(with_counts(server.get(Workload, "ml", "set"), {"workers": 3}))
    Controller(server).reconcile(job({"parallelism": 1}, metadata=DELEGATED))
    assert _count(server.get(PodGroup, "ml", group.metadata.name)) == 3


@pytest.mark.parametrize("template", ["workers", "driver"])
def test_a_delegated_job_that_started_gets_no_pod_group(template: str) -> None:
    """As for any other job, what exists is used and nothing is made."""
    server = FakeApiServer(_parent_workload("workers", "driver"))
    metadata = {**DELEGATED, "annotations": {TEMPLATE_ANNOTATION: template}}
    Controller(server).reconcile(job(metadata=metadata, status={"failed": 1}))
    assert _kinds(server) == ["create Pod"]
    assert _links(server) == [None]


def test_a_delegated_job_that_is_new_uses_the_pod_group_that_it_has() -> None:
    """A pass that failed after the group was made is completed."""
    server = FakeApiServer(_parent_workload("workers"))
    server.broken = "create Pod "
    with pytest.raises(ApiError):
        Controller(server).reconcile(job(metadata=DELEGATED))
    server.broken = None
    Controller(server).reconcile(job(metadata=DELEGATED))
    assert _kinds(server) == ["create PodGroup", "create Pod"]


def test_a_delegated_job_waits_for_the_workload_above() -> None:
    """No Pod is made before its group can be."""
    server = FakeApiServer()
    with pytest.raises(NotReadyError, match="no Workload of JobSet set"):
        Controller(server).reconcile(job(metadata=DELEGATED))
    assert server.writes == []


@pytest.mark.parametrize(
    "workloads",
    [
        pytest.param([_parent_workload("driver")], id="no-such-template"),
        pytest.param(
            [
                _parent_workload("workers"),
                replace(_parent_workload("workers"), metadata=ObjectMeta(name="b", namespace="ml")),
            ],
            id="two-workloads",
        ),
    ],
)
def test_a_delegated_job_without_its_template_is_scheduled_plainly(workloads: list[Workload]) -> None:
    """What the controller above says makes no sense, and the job goes on without."""
    server = FakeApiServer(*workloads)
    Controller(server).reconcile(job(metadata=DELEGATED))
    assert _kinds(server) == ["create Pod"]
    assert _links(server) == [None]


LINKED = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "schedulingGroup": {"podGroupName": "mine"}}}


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param(job(), Management.WORKLOAD_AND_GROUPS, id="alone"),
        pytest.param(
            job(metadata={"ownerReferences": [{**PARENT, "controller": None}]}),
            Management.WORKLOAD_AND_GROUPS,
            id="an-owner-that-is-no-controller",
        ),
        pytest.param(job(metadata={"ownerReferences": [PARENT]}), Management.NOTHING, id="below-a-controller"),
        pytest.param(job(metadata=DELEGATED), Management.POD_GROUP_ONLY, id="delegated"),
        pytest.param(job(TREE, metadata=DELEGATED), Management.NOTHING, id="one-group-is-no-tree"),
        pytest.param(job({"template": LINKED}), Management.NOTHING, id="linked-by-the-user"),
        pytest.param(
            job({"roles": [role("a"), {**role("b"), "template": LINKED}]}), Management.NOTHING, id="one-role-linked"
        ),
    ],
)
def test_what_is_managed(given: Job, want: Management) -> None:
    """A job belongs to whoever is above it, and a linked Pod to whoever made its group."""
    assert management_of(given) == want


def test_a_link_of_the_user_is_kept() -> None:
    """The Pods go where the user put them."""
    server = FakeApiServer()
    Controller(server).reconcile(job({"template": LINKED}))
    assert _links(server) == ["mine"]


def test_groups_of_a_quiet_class_say_so() -> None:
    """With the cluster's classes the controller's groups pass admission."""
    quiet = PriorityClass(metadata=ObjectMeta(name="quiet"), value=5, preemption_policy="Never")
    server = FakeApiServer(classes=[quiet])
    Controller(server, PriorityClasses([quiet])).reconcile(job({**TREE, "priorityClassName": "quiet"}))
    groups: list[PodGroup | CompositePodGroup] = [*server.list(PodGroup, "ml"), *server.list(CompositePodGroup, "ml")]
    assert [(group.spec.priority, group.spec.preemption_policy) for group in groups] == [(5, "Never")] * 3
    assert {pod.spec.priority for pod in server.list(Pod, "ml")} == {5}


def test_pods_keep_what_the_controller_does_not_know() -> None:
    """The template's containers and labels arrive."""
    server = FakeApiServer()
    Controller(server).reconcile(job({"template": LINKED}))
    (pod,) = server.list(Pod, "ml")
    assert pod.spec.extra == {"containers": [{"name": "main", "image": "busybox"}]}
    assert pod.spec.scheduling_group == PodSchedulingGroup(pod_group_name="mine")
    assert pod.metadata.labels == {"app": "x"}
    assert pod.metadata.owner_references == (
        OwnerReference(
            api_version="training.example.com/v1",
            kind="TrainingJob",
            name="training",
            uid="job-uid",
            controller=True,
            block_owner_deletion=True,
        ),
    )
