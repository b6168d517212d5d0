"""What the controller needs of an API server: four verbs over typed objects. A client of your own fits in here.

The tests implement it in memory; `http_client` over HTTP.
"""

from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from berth.workload import CompositePodGroup, PodGroup, Workload, normalise, read_part, write, write_part
from berth.workload.models import Pod

AnyObject: TypeAlias = Workload | PodGroup | CompositePodGroup | Pod
ObjT = TypeVar("ObjT", bound=AnyObject)


class ApiError(Exception):
    """The API server refused. `code` is the HTTP status."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(f"{code}: {message}")


class NotFound(ApiError):  # noqa: N818 - the name of the answer
    """There is no such object."""


class Conflict(ApiError):  # noqa: N818 - the name of the answer
    """The name is taken, or the object changed since it was read. Look again later."""


def error_of(code: int, message: str) -> ApiError:
    """The error of an HTTP status."""
    return {404: NotFound, 409: Conflict}.get(code, ApiError)(code, message)


class Client(Protocol):
    """Objects of one cluster. Every call answers with the object as stored."""

    def list(self, kind: type[ObjT], namespace: str) -> list[ObjT]:
        """All objects of a kind in a namespace."""

    def get(self, kind: type[ObjT], namespace: str, name: str) -> ObjT:
        """One object.

        Raises:
            NotFound: there is none.
        """

    def create(self, obj: ObjT) -> ObjT:
        """Store a new object, in the namespace of its metadata.

        Raises:
            Conflict: the name is taken.
            ApiError: it is refused.
        """

    def replace(self, obj: ObjT) -> ObjT:
        """Store a changed object, made from the stored one, so with its resourceVersion.

        Raises:
            Conflict: it changed since it was read.
            ApiError: it is refused.
        """


class Resource(NamedTuple):
    """Where a kind is served, and under which version it is written."""

    prefix: str
    plural: str
    version: str


RESOURCES: dict[type[Any], Resource] = {
    Workload: Resource("/apis/scheduling.k8s.io/v1beta1", "workloads", "v1beta1"),
    PodGroup: Resource("/apis/scheduling.k8s.io/v1beta1", "podgroups", "v1beta1"),
    CompositePodGroup: Resource("/apis/scheduling.k8s.io/v1alpha3", "compositepodgroups", "v1alpha3"),
    Pod: Resource("/api/v1", "pods", "v1"),
}


def to_json(obj: AnyObject) -> dict[str, Any]:
    """The object as the API server takes it."""
    if isinstance(obj, Pod):
        return {"apiVersion": "v1", "kind": "Pod", **write_part(obj)}
    return write(obj, RESOURCES[type(obj)].version)


def from_json(kind: type[ObjT], body: dict[str, Any]) -> ObjT:
    """The object as the API server gave it; items of a list have no kind of their own."""
    bare = {name: value for name, value in body.items() if name not in ("apiVersion", "kind")}
    version = RESOURCES[kind].prefix.removeprefix("/apis/")
    named = {"apiVersion": version, "kind": kind.__name__, **bare}
    obj = read_part(Pod, bare) if issubclass(kind, Pod) else normalise(named)
    if not isinstance(obj, kind):
        raise TypeError(f"a {kind.__name__} was asked for, not a {type(obj).__name__}")
    return obj
