"""The client over HTTP: paths, bodies, errors, against a server on loopback that answers from memory."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from berth.workload import CompositePodGroup, ObjectMeta, PodGroup, PodGroupSpec, Workload, gang
from berth.workload.models import Pod, PodSpec
from examples.job_controller.client import ApiError, Conflict, NotFound
from examples.job_controller.controller import Controller
from examples.job_controller.http_client import HttpClient
from tests.fakes.api_server import FakeApiServer
from tests.unit.examples.jobs import job, role, tree
from tests.unit.examples.served import Handler, api_server

TOKEN = "t0"  # noqa: S105 - of a server in this file


@pytest.fixture(name="served")
def _served() -> Iterator[tuple[HttpClient, type[Handler]]]:
    with api_server() as (url, handler):
        yield HttpClient(url=url, token=TOKEN), handler


def _group() -> PodGroup:
    return PodGroup(metadata=ObjectMeta(name="g", namespace="ml"), spec=PodGroupSpec(scheduling_policy=gang(2)))


def test_the_controller_works_over_http(served: tuple[HttpClient, type[Handler]]) -> None:
    """The same objects as in memory, with the token in every request."""
    client, handler = served
    spec = tree(role("workers", 2, schedulingPolicy={"gang": {}}))
    Controller(client).reconcile(job(spec))
    in_memory = FakeApiServer()
    Controller(in_memory).reconcile(job(spec))
    assert handler.store.writes == in_memory.writes
    for kind in (Workload, PodGroup, CompositePodGroup, Pod):
        assert client.list(kind, "ml") == in_memory.list(kind, "ml")
    assert {token for _, _, token in handler.seen} == {f"Bearer {TOKEN}"}


def test_one_object_there_and_back(served: tuple[HttpClient, type[Handler]]) -> None:
    """Create, get, replace: each answers with what is stored."""
    client, handler = served
    created = client.create(_group())
    assert client.get(PodGroup, "ml", "g") == created
    changed = replace(created, spec=replace(created.spec, scheduling_policy=gang(3)))
    assert client.replace(changed).spec.scheduling_policy == gang(3)
    assert [(method, path) for method, path, _ in handler.seen] == [
        ("POST", "/apis/scheduling.k8s.io/v1beta1/namespaces/ml/podgroups"),
        ("GET", "/apis/scheduling.k8s.io/v1beta1/namespaces/ml/podgroups/g"),
        ("PUT", "/apis/scheduling.k8s.io/v1beta1/namespaces/ml/podgroups/g"),
    ]


def test_errors_have_their_kind(served: tuple[HttpClient, type[Handler]]) -> None:
    """A name that is taken, a stale update, an object that is not there, a refusal with the server's reason."""
    client, _ = served
    created = client.create(_group())
    with pytest.raises(Conflict, match="already exists"):
        client.create(_group())
    client.replace(created)
    with pytest.raises(Conflict, match="modified"):
        client.replace(replace(created, metadata=replace(created.metadata, resource_version="99999")))
    with pytest.raises(NotFound):
        client.get(PodGroup, "ml", "other")
    with pytest.raises(ApiError, match=r"422: .*minCount"):
        client.create(
            replace(
                _group(), metadata=ObjectMeta(name="h", namespace="ml"), spec=PodGroupSpec(scheduling_policy=gang(0))
            )
        )


def test_an_answer_that_is_no_json(served: tuple[HttpClient, type[Handler]]) -> None:
    """Something else than an API server answers, such as a proxy's page."""
    client, handler = served
    handler.store.create(Pod(metadata=ObjectMeta(name="html", namespace="ml"), spec=PodSpec()))
    with pytest.raises(ApiError, match="no JSON"):
        client.get(Pod, "ml", "html")
