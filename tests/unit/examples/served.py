"""An API server on loopback: the paths of the real one, answered from memory."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from examples.job_controller.client import RESOURCES, ApiError, from_json, to_json
from tests.fakes.api_server import FakeApiServer

KINDS = {f"{resource.prefix}/namespaces/ml/{resource.plural}": kind for kind, resource in RESOURCES.items()}


class Handler(BaseHTTPRequestHandler):
    """Speaks the API server's paths for one FakeApiServer."""

    store: FakeApiServer
    seen: list[tuple[str, str, str | None]]
    lists: dict[str, Any]

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
        if name in self.lists:
            return {"items": self.lists[name]}
        kind = KINDS[collection]
        return to_json(
            self.store.get(kind, "ml", name)
            if self.command == "GET"
            else self.store.replace(from_json(kind, json.loads(body)))
        )

    def _item(self, obj: Any) -> dict[str, Any]:
        """An item of a list has neither apiVersion nor kind."""
        return {name: value for name, value in to_json(obj).items() if name not in ("apiVersion", "kind")}


@contextmanager
def api_server(**lists: Any) -> Iterator[tuple[str, type[Handler]]]:
    """Serve until the block ends; gives the URL. `lists` are items of further collections, by plural name."""
    handler = type("Served", (Handler,), {"store": FakeApiServer(), "seen": [], "lists": lists})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", handler
        finally:
            server.shutdown()
            thread.join()
