"""The corpus of API server verdicts: how a case is read, and how it is asked of `review`.

`tests/cluster/test_workload_corpus.py` asks an API server the same.
"""

import copy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from berth.workload import Answer, Rules, review

FOLDER = Path(__file__).parent / "workload-api"

# Cases that no review of a single object can decide, and why.
NOT_JUDGED = {
    "pod-workload-ref": "judges the rest of a Pod: that its spec has no field of this name",
    "workload-other-namespace": "judges the URL: the namespace of the path, which a review does not know",
}

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class CorpusCase:
    """One request and the server's answer to it, in one version. `file`: where it is written, without the suffix."""

    version: str
    data: dict[str, Any]
    file: str = ""

    @property
    def id(self) -> str:
        """Unique among all cases."""
        return f"{self.data['id']}-{self.version}"

    @property
    def want(self) -> tuple[str, int, str, list[tuple[str, str]]]:
        """Verdict, code, reason and the causes' fields and reasons, in order."""
        causes = sorted((cause["field"], cause["reason"]) for cause in self.data["causes"])
        return self.data["verdict"], self.data["code"], self.data.get("reason", ""), causes

    @property
    def want_stored(self) -> dict[str, Any]:
        """Values of the stored object by path. The version of the answer is the server's choice, not ours."""
        stored = dict(self.data.get("stored") or {})
        if "read_version" in self.data:
            stored.pop("apiVersion", None)
        return stored


def cases() -> tuple[CorpusCase, ...]:
    """Every case that is about groups; Jobs are not reviewed."""
    return tuple(case for case in all_cases() if case.file != "job")


@cache
def all_cases() -> tuple[CorpusCase, ...]:
    """Every case in every version that has the same answer."""
    return tuple(
        CorpusCase(version, data, file.stem)
        for file in sorted(FOLDER.glob("*.yaml"))
        for data in yaml.load(file.read_text(encoding="utf-8"), _Loader)  # noqa: S506 - a safe loader
        for version in (data["version"], *(data.get("also") or ()))
    )


def replay(case: CorpusCase, rules: str | Rules) -> Answer:
    """Ask `review` what the server was asked: the stored object first, then the request."""
    data = case.data
    known: dict[str, Any] = {name: data[name] for name in ("gates", "field_validation") if name in data}
    known["classes"] = [item for item in data.get("setup", ()) if item["kind"] == "PriorityClass"]
    body = copy.deepcopy(data["object"])
    if data["operation"] == "create":
        return review("create", body, version=case.version, old=_namesake(data), rules=rules, **known)
    old = _stored(case, known)
    if data.get("resource_version") != "omitted":
        body["metadata"]["resourceVersion"] = "2" if data.get("resource_version") != "stale" else "1"
    subresource = "status" if data["operation"] == "status" else None
    return review("update", body, version=case.version, old=old, subresource=subresource, rules=rules, **known)


def causes_of(answer: Answer) -> tuple[str, int, str, list[tuple[str, str]]]:
    """An answer in the form of `CorpusCase.want`."""
    causes = sorted((cause.field, str(cause.reason)) for cause in answer.causes)
    return answer.verdict, answer.code, answer.reason, causes


def look_up(body: Any, path: str) -> Any:
    """The value at a path such as `spec.podGroupTemplates.0.priority`; None where there is nothing."""
    for step in path.split("."):
        if body is None:
            return None
        body = body[int(step)] if isinstance(body, list) else body.get(step)
    return body


def _stored(case: CorpusCase, known: dict[str, Any]) -> dict[str, Any]:
    """The stored object: `old` as the server keeps it, under the gates of that time."""
    data = case.data
    at_that_time = data.get("old_gates", data.get("gates"))
    gates = {} if at_that_time is None else {"gates": at_that_time}
    answer = review("create", data["old"], version=case.version, classes=known["classes"], rules="server", **gates)
    assert answer.object is not None, answer
    stored = answer.object
    stored["metadata"]["resourceVersion"] = "2"
    if "old_status" in data:
        stored["status"] = data["old_status"]
    return stored


def _namesake(data: dict[str, Any]) -> dict[str, Any] | None:
    """The object that has the name already, if the case set one up."""
    same = (
        item
        for item in data.get("setup", ())
        if item["kind"] == data["object"]["kind"] and item["metadata"]["name"] == data["object"]["metadata"].get("name")
    )
    return next(same, None)
