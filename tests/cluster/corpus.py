"""The corpus of API server verdicts, asked of an API server: one request a case, in a namespace of its own.

A question has two steps, since the object that it starts from may come from a server with other gates: `begun`, then
`ask`. PriorityClasses are of the whole cluster, and one may be the default of every other case: questions must not
overlap, and leave none behind. Nothing here knows what the answer should be but `moved`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import msgspec

from tests.cluster.api import Api
from tests.vectors.workload_api import CorpusCase, look_up

JSON = dict[str, Any]
_GROUPS: Final = {"Workload": "workloads", "PodGroup": "podgroups", "CompositePodGroup": "compositepodgroups"}
_OTHERS: Final = {
    "Job": ("batch/v1", "jobs"),
    "Pod": ("v1", "pods"),
    "PriorityClass": ("scheduling.k8s.io/v1", "priorityclasses"),
}
"""Kind -> apiVersion and resource; the version of a case is not theirs."""


@dataclass(frozen=True)
class Verdict:
    """What the server said. `stored`: the values that the case names, by path."""

    verdict: str
    code: int
    reason: str
    causes: list[tuple[str, str]]
    stored: JSON

    @classmethod
    def wanted(cls, case: CorpusCase) -> Self:
        """What the corpus says."""
        return cls(*case.want, stored=case.data.get("stored") or {})


def moved(case: CorpusCase, got: Verdict) -> list[str]:
    """Return one text that names the case and what is no longer as the corpus has it; nothing if all is."""
    want = Verdict.wanted(case)
    lines = [
        f"    {field}: want {getattr(want, field)!r}, got {getattr(got, field)!r}"
        for field in Verdict.__dataclass_fields__
        if getattr(want, field) != getattr(got, field)
    ]
    return ["\n".join([f"  {case.id} ({case.data['behaviour']})", *lines])] if lines else []


class Question:
    """One case and its namespace."""

    def __init__(self, case: CorpusCase, namespace: str) -> None:
        self._case = case
        self._data = case.data
        self._namespace = namespace
        self._old: JSON | None = None

    @classmethod
    async def begun(cls, case: CorpusCase, api: Api) -> Self:
        """Create the namespace, and what an update starts from. What was set up for that is gone then."""
        question = cls(case, await api.new_namespace())
        if "old" in case.data:
            await question._set_up(api)
            question._old = await question._store(api)
            await question._withdraw(api, case.data.get("setup", ()))
        return question

    async def ask(self, api: Api) -> Verdict:
        """Send the request of the case."""
        if self._old is None:
            await self._set_up(api)
        code, answer = await self._request(api)
        verdict = await self._verdict(api, code, answer)
        left = list(self._data.get("setup", ())) if self._old is None else []
        if self._old is not None or verdict.verdict == "accepted":
            left.append(self._data["object"])
        await self._withdraw(api, left)
        return verdict

    async def _store(self, api: Api) -> JSON:
        old = self._data["old"]
        stored = await api.send("POST", self._path(old), self._body(old))
        if "old_status" in self._data:
            path = self._path(old, stored["metadata"]["name"]) + "/status"
            stored = await api.send("PUT", path, {**stored, "status": self._data["old_status"]})
        return stored

    async def _request(self, api: Api) -> tuple[int, JSON]:
        data = self._data
        params = {"fieldValidation": data["field_validation"]} if "field_validation" in data else {}
        body = self._body(data["object"])
        if self._old is None:
            return await _answer(api, "POST", self._path(body), body, params)
        metadata = self._old["metadata"]
        path = self._path(body, metadata["name"]) + ("/status" if data["operation"] == "status" else "")
        if data.get("resource_version") != "omitted":
            body["metadata"] = {**body["metadata"], "resourceVersion": metadata["resourceVersion"]}
        if data.get("resource_version") == "stale":
            newer = {**self._old, "metadata": {**metadata, "labels": {"a": "b"}}}
            await api.send("PUT", self._path(body, metadata["name"]), newer)
        return await _answer(api, "PUT", path, _with_uid(body, metadata["uid"]), params)

    async def _verdict(self, api: Api, code: int, answer: JSON) -> Verdict:
        stored = answer
        if "read_version" in self._data and code < 300:
            path = self._path(self._data["object"], answer["metadata"]["name"], version=self._data["read_version"])
            stored = await api.send("GET", path)
        values = {path: look_up(stored, path) for path in self._data.get("stored") or ()}
        if code < 300:
            return Verdict("accepted", code, "", [], values)
        causes = (answer.get("details") or {}).get("causes") or ()
        shown = sorted((cause.get("field", ""), cause["reason"]) for cause in causes)
        return Verdict("rejected", code, answer.get("reason", ""), shown, values)

    # --- set-up ---------------------------------------------------------------------------------------------------

    async def _set_up(self, api: Api) -> None:
        for item in self._data.get("setup", ()):
            await api.send("POST", self._path(item), self._body(item))
            if item["kind"] == "PriorityClass":
                await self._until_admission(api, item["metadata"]["name"], knows=True)

    async def _withdraw(self, api: Api, items: Iterable[JSON]) -> None:
        """Delete those that are PriorityClasses; all of them exist."""
        for item in items:
            if item["kind"] == "PriorityClass":
                name = item["metadata"]["name"]
                # One that was not known yet could still become known after it has been deleted.
                await self._until_admission(api, name, knows=True)
                await api.send("DELETE", self._path(item, name))
                await self._until_admission(api, name, knows=False)

    async def _until_admission(self, api: Api, name: str, *, knows: bool) -> None:
        """Wait until the server's admission, which follows PriorityClasses by a watch, has seen what was stored."""
        spec = {"priorityClassName": name, "containers": [{"name": "main", "image": "busybox"}]}
        probe = self._body({"kind": "Pod", "metadata": {"name": "probe"}, "spec": spec})
        code = 0
        while code != (201 if knows else 403):
            code, answer = await _answer(api, "POST", self._path(probe), probe, {"dryRun": "All"})
            assert code in {201, 403}, answer

    # --- addresses ------------------------------------------------------------------------------------------------

    def _served(self, item: JSON, version: str = "") -> tuple[str, str]:
        """Return apiVersion and resource of an object's kind."""
        kind = item["kind"]
        return _OTHERS.get(kind) or (f"scheduling.k8s.io/{version or self._case.version}", _GROUPS[kind])

    def _path(self, item: JSON, name: str = "", *, version: str = "") -> str:
        api_version, resource = self._served(item, version)
        parts = ["", "apis" if "/" in api_version else "api", api_version]
        parts += [] if item["kind"] == "PriorityClass" else ["namespaces", self._namespace]
        return "/".join([*parts, resource, *filter(None, [name])])

    def _body(self, item: JSON) -> JSON:
        return {"apiVersion": self._served(item)[0], **item}


async def _answer(api: Api, method: str, path: str, body: JSON, params: Mapping[str, str]) -> tuple[int, JSON]:
    """Send a request that may be refused; an answer that is no JSON is as good as empty."""
    answer = await api.connection.request(method, path, params=params, body=msgspec.json.encode(body))
    try:
        return answer.code, msgspec.json.decode(answer.body, type=JSON)
    except msgspec.DecodeError:
        return answer.code, {}


def _with_uid(body: JSON, uid: str) -> JSON:
    """Put the uid of the stored object where the corpus has UID."""
    return msgspec.json.decode(msgspec.json.encode(body).replace(b'"UID"', msgspec.json.encode(uid)), type=JSON)
