"""JSON of small jobs for the tests of the example controller."""

from typing import Any

from examples.job_controller.job import Job, read_job

TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"app": "x"}},
    "spec": {"containers": [{"name": "main", "image": "busybox"}]},
}


def job(spec: dict[str, Any] | None = None, **body: Any) -> Job:
    """A TrainingJob named `training` in `ml`."""
    metadata = {"name": "training", "namespace": "ml", "uid": "job-uid", **body.pop("metadata", {})}
    return read_job({"metadata": metadata, "spec": {"template": TEMPLATE, **(spec or {})}, **body})


def role(name: str, parallelism: int = 1, **scheduling: Any) -> dict[str, Any]:
    """One role; without keywords it says nothing about scheduling."""
    body = {"name": name, "parallelism": parallelism, "template": TEMPLATE}
    return {**body, "scheduling": scheduling} if scheduling else body


def tree(*roles: dict[str, Any], scheduling: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """The spec of a job with roles."""
    return {"roles": list(roles), **spec} | ({} if scheduling is None else {"scheduling": scheduling})


def gang(count: int | None = None) -> dict[str, Any]:
    """The policy block of a gang."""
    return {"gang": {} if count is None else {"minCount": count}}


def rack(key: str = "topology.example.com/rack") -> dict[str, Any]:
    """The constraints block of one key."""
    return {"topology": [{"key": key}]}
