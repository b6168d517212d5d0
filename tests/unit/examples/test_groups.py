"""Groups from a Workload that exists: what every API server gives, and how they are made."""

import pytest
from msgspec.structs import replace

from berth.workload import ObjectMeta, PodGroup, WorkloadReference
from examples.job_controller.client import ApiError
from examples.job_controller.groups import create_groups
from tests.contract.controller_contract import ControllerContract, Place, stored_workload
from tests.fakes.api_server import FakeApiServer


class TestInMemory(ControllerContract):
    """The suite that a real API server passes, too."""

    @pytest.fixture
    def place(self) -> Place:
        """A new API server."""
        return Place(FakeApiServer(), "ml")


def test_the_order_of_creation() -> None:
    """Parents first; a second call writes nothing."""
    server = FakeApiServer()
    workload = stored_workload(server, "ml")
    create_groups(server, workload, "workload")
    create_groups(server, workload, "workload")
    assert server.writes[1:] == [
        "create CompositePodGroup workload-root",
        "create PodGroup workload-workers",
        "create PodGroup workload-driver",
    ]


def test_a_failure_leaves_a_start_that_the_next_call_completes() -> None:
    """What exists is never without its parent."""
    server = FakeApiServer()
    workload = stored_workload(server, "ml")
    server.broken = "workload-workers"
    with pytest.raises(ApiError):
        create_groups(server, workload, "workload")
    assert server.writes[1:] == ["create CompositePodGroup workload-root"]
    server.broken = None
    create_groups(server, workload, "workload")
    assert server.writes[2:] == ["create PodGroup workload-workers", "create PodGroup workload-driver"]


def test_a_name_that_is_taken_by_another_template_is_no_match() -> None:
    """Tying Pods to somebody else's group would be worse than no group."""
    server = FakeApiServer()
    workload = stored_workload(server, "ml")
    (*_, driver) = create_groups(server, workload, "workload")
    other = replace(
        driver,
        metadata=ObjectMeta(name="other-driver", namespace="ml"),
        spec=replace(driver.spec, workload_ref=WorkloadReference(workload_name="x", template_name="y")),
    )
    assert isinstance(other, PodGroup)
    server.create(other)
    with pytest.raises(ValueError, match="other-driver exists"):
        create_groups(server, workload, "other")
