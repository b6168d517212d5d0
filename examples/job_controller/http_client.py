"""The client over HTTP, with nothing but the standard library: one connection a request, a bearer token, JSON."""

import http.client
import json
import ssl
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from examples.job_controller.client import RESOURCES, ApiError, ObjT, error_of, from_json, to_json

_ERRORS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpClient:
    """A Client of the API server at `url`.

    Attributes:
        url: as in "https://127.0.0.1:6443".
        token: a bearer token; empty for none.
        ca_file: certificate of the server's authority; None for those of the system.
        timeout: of a request, in seconds.
    """

    url: str
    token: str = ""
    ca_file: str | None = None
    timeout: float = 10.0

    def list(self, kind: type[ObjT], namespace: str) -> list[ObjT]:
        """See Client."""
        return [from_json(kind, item) for item in self.request("GET", _path(kind, namespace))["items"]]

    def get(self, kind: type[ObjT], namespace: str, name: str) -> ObjT:
        """See Client."""
        return from_json(kind, self.request("GET", _path(kind, namespace, name)))

    def create(self, obj: ObjT) -> ObjT:
        """See Client."""
        return from_json(type(obj), self.request("POST", _path(type(obj), obj.metadata.namespace), to_json(obj)))

    def replace(self, obj: ObjT) -> ObjT:
        """See Client."""
        path = _path(type(obj), obj.metadata.namespace, obj.metadata.name)
        return from_json(type(obj), self.request("PUT", path, to_json(obj)))

    def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send one request and read its JSON.

        Raises:
            ApiError: the server answered with an error, or with something that is no JSON object.
            OSError: there was no answer.
        """
        connection = self._connection()
        try:
            connection.request(method, path, None if body is None else json.dumps(body), self._headers())
            response = connection.getresponse()
            answer = _read(response.status, response.read())
        finally:
            connection.close()
        if response.status >= _ERRORS:
            raise error_of(response.status, str(answer.get("message")))
        return answer

    def _connection(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        if parts.scheme == "http":
            return http.client.HTTPConnection(parts.netloc, timeout=self.timeout)
        context = ssl.create_default_context(cafile=self.ca_file)
        return http.client.HTTPSConnection(parts.netloc, timeout=self.timeout, context=context)

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        return {**headers, "Authorization": f"Bearer {self.token}"} if self.token else headers


def _path(kind: type[Any], namespace: str, name: str = "") -> str:
    resource = RESOURCES[kind]
    path = f"{resource.prefix}/namespaces/{quote(namespace or 'default', safe='')}/{resource.plural}"
    return f"{path}/{quote(name, safe='')}" if name else path


def _read(status: int, content: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(content)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise error_of(status, "the answer is no JSON object") if status >= _ERRORS else ApiError(status, "no JSON")
    return answer
