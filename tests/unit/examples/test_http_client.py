"""The client over HTTP: paths, bodies, errors, against a server on loopback that answers from memory."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from msgspec.structs import replace

from berth.workload import CompositePodGroup, ObjectMeta, PodGroup, PodGroupSpec, Workload, gang
from berth.workload.models import Pod, PodSpec
from examples.job_controller.client import RESOURCES, ApiError, Conflict, NotFound, from_json, to_json
from examples.job_controller.controller import Controller
from examples.job_controller.http_client import HttpClient
from tests.fakes.api_server import FakeApiServer
from tests.unit.examples.jobs import job, role, tree

TOKEN = "t0"  # noqa: S105 - of a server in this file
KINDS = {f"{resource.prefix}/namespaces/ml/{resource.plural}": kind for kind, resource in RESOURCES.items()}


class _Handler(BaseHTTPRequestHandler):
    """Speaks the API server's paths for one FakeApiServer."""

    store: FakeApiServer
    seen: list[tuple[str, str, str | None]]

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def _serve(self) -> None:
        self.seen.append((self.command, self.path, self.headers.get("Authorization")))
        try:
            code, answer = 200, self._answer()
        except ApiError as error:
            code, answer = error.code, {"kind": "Status", "message": str(error)}
        content = b"<html>" if self.path.endswith("/html") else json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = _serve  # noqa: N815 - names of the base class

    def _answer(self) -> Any:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path in KINDS:
            kind = KINDS[self.path]
            if self.command == "GET":
                return {"items": [self._item(item) for item in self.store.list(kind, "ml")]}
            return to_json(self.store.create(from_json(kind, json.loads(body))))
        collection, _, name = self.path.rpartition("/")
        kind = KINDS[collection]
        return to_json(
            self.store.get(kind, "ml", name)
            if self.command == "GET"
            else self.store.replace(from_json(kind, json.loads(body)))
        )

    def _item(self, obj: Any) -> dict[str, Any]:
        """An item of a list has neither apiVersion nor kind."""
        return {name: value for name, value in to_json(obj).items() if name not in ("apiVersion", "kind")}


@pytest.fixture(name="served")
def _served() -> Iterator[tuple[HttpClient, type[_Handler]]]:
    handler = type("Handler", (_Handler,), {"store": FakeApiServer(), "seen": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield HttpClient(url=f"http://127.0.0.1:{server.server_address[1]}", token=TOKEN), handler
        server.shutdown()
        thread.join()


def _group() -> PodGroup:
    return PodGroup(metadata=ObjectMeta(name="g", namespace="ml"), spec=PodGroupSpec(scheduling_policy=gang(2)))


def test_the_controller_works_over_http(served: tuple[HttpClient, type[_Handler]]) -> None:
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


def test_one_object_there_and_back(served: tuple[HttpClient, type[_Handler]]) -> None:
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


def test_errors_have_their_kind(served: tuple[HttpClient, type[_Handler]]) -> None:
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


def test_an_answer_that_is_no_json(served: tuple[HttpClient, type[_Handler]]) -> None:
    """Something else than an API server answers, such as a proxy's page."""
    client, handler = served
    handler.store.create(Pod(metadata=ObjectMeta(name="html", namespace="ml"), spec=PodSpec()))
    with pytest.raises(ApiError, match="no JSON"):
        client.get(Pod, "ml", "html")
