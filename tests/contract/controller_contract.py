"""What the example controller does on any API server, as tests that the one in memory and a real one must both pass.

An API server gets its suite by a subclass whose name starts with Test and which has a fixture `place`.
"""

from dataclasses import dataclass

from msgspec.structs import replace

from berth.workload import CompositePodGroup, ObjectMeta, PodGroup, Workload, write
from berth.workload import gang as gang_policy
from examples.job_controller.client import Client
from examples.job_controller.controller import Controller
from examples.job_controller.counts import with_counts
from examples.job_controller.groups import Group, create_groups
from tests.unit.examples.documented import WANTED_GROUPS, WORKLOAD
from tests.unit.examples.jobs import gang, job, rack, role, tree


@dataclass(frozen=True)
class Place:
    """An API server, and a namespace in it that is the test's own and empty."""

    client: Client
    namespace: str


def _as_sent(group: Group) -> Group:
    """A stored group without what an API server sets: its metadata, defaulting and admission."""
    spec = replace(group.spec, disruption_mode=None, priority=None, preemption_policy=None)
    return replace(group, metadata=ObjectMeta(name=group.metadata.name), spec=spec)


def stored_workload(client: Client, namespace: str) -> Workload:
    """Create the documented Workload."""
    return client.create(replace(WORKLOAD, metadata=replace(WORKLOAD.metadata, namespace=namespace)))


def _groups(client: Client, namespace: str) -> list[Group]:
    return [*client.list(CompositePodGroup, namespace), *client.list(PodGroup, namespace)]


def _counts(groups: list[Group]) -> list[int | None]:
    return [
        item.spec.scheduling_policy.gang.min_count
        for item in groups
        if isinstance(item, PodGroup) and item.spec.scheduling_policy.gang
    ]


class ControllerContract:
    """The groups of a Workload that exists, and of a job."""

    def test_the_documented_tree_gives_exactly_the_documented_groups(self, place: Place) -> None:
        """`workload-root`, `workload-workers`, `workload-driver`, in this order, with their parents."""
        workload = stored_workload(place.client, place.namespace)
        groups = create_groups(place.client, workload, "workload")
        assert [write(_as_sent(group)) for group in groups] == [write(group) for group in WANTED_GROUPS]
        parents = [group.spec.parent_composite_pod_group_name for group in groups]
        assert parents == [None, "workload-root", "workload-root"]
        stored = _groups(place.client, place.namespace)
        assert sorted(map(repr, stored)) == sorted(map(repr, groups))

    def test_a_changed_template_reaches_the_next_group_and_no_other(self, place: Place) -> None:
        """Groups are self-contained: who wants the new count makes a new group."""
        workload = stored_workload(place.client, place.namespace)
        before = create_groups(place.client, workload, "workload")
        changed = place.client.replace(with_counts(workload, {"workers": 5}))
        assert create_groups(place.client, changed, "workload") == before
        following = create_groups(place.client, changed, "workload-2")
        assert (_counts(before), _counts(following)) == ([8, 1], [5, 1])
        assert len(_groups(place.client, place.namespace)) == 6

    def test_the_controller_makes_a_tree_and_follows_its_counts(self, place: Place) -> None:
        """All three kinds and the Pods are taken as built, and so is the update of Workload and group."""
        metadata = {"namespace": place.namespace}
        small, big = (
            tree(role("workers", count, schedulingPolicy=gang(), schedulingConstraints=rack()), role("driver"))
            for count in (2, 3)
        )
        Controller(place.client).reconcile(job(small, metadata=metadata))
        Controller(place.client).reconcile(job(big, metadata=metadata))
        assert _counts(_groups(place.client, place.namespace)) == [3]
        (workload,) = place.client.list(Workload, place.namespace)
        (root,) = workload.spec.composite_pod_group_templates
        assert [leaf.scheduling_policy.gang for leaf in root.pod_group_templates if leaf.scheduling_policy.gang] == [
            gang_policy(3).gang
        ]
