"""A real cluster as a store: what placement reads and writes, on an API server.

A write is sent once. It is never repeated here, because only the caller knows what else is out; a connection that the
server closed while a PATCH was on it leaves open what happened. This module must not decide what follows from that.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

import msgspec

from berth_server.kube.connection import MERGE_PATCH, Connection
from berth_server.kube.informer import SILENCE_SECONDS, Informer, Log
from berth_server.kube.kinds import kind_of
from berth_server.kube.verdicts import UnavailableError, read_failure, write_failure
from berth_server.objects.decode import DecodeError, decode
from berth_server.objects.resources import Resource, type_of_kind
from berth_server.observability.metrics import Metrics
from berth_server.placement.ports import Listing, ObjectRef, OutcomeUnknownError, ThrottledError, WatchEvent

SERVER_TIMEOUT_SECONDS: Final = 5
"""The API server kills a write that arrives whole only later than this, so that a late one can't land for ever."""
CLIENT_TIMEOUT_SECONDS: Final = 6.0
BUSY_WRITES: Final = 16
"""So many status writes on their way at once are a burst: what is less than they are waits."""
_PATCH_QUERY: Final = f"timeout={SERVER_TIMEOUT_SECONDS}s&fieldManager=berth"
_OK: Final = 200


class KubernetesStore:
    """Implements `placement.ports.Store`. Belongs to one event loop."""

    def __init__(
        self,
        connection: Connection,
        metrics: Metrics,
        log: Log,
        monotonic: Callable[[], float],
        *,
        silence: float = SILENCE_SECONDS,
    ) -> None:
        self._connection = connection
        self._monotonic = monotonic
        self._not_before = 0.0
        self._writing = 0
        self._informers = {
            name: Informer(kind_of(name), connection, metrics, log, monotonic, silence=silence) for name in type_of_kind
        }

    def list(self, kind: str) -> AsyncIterator[Listing]:
        """See Store. Waits while the server can't answer, and for a kind whose API it does not serve yet."""
        return self._informers[kind].list()

    def watch(self, kind: str, since: int) -> AsyncIterator[WatchEvent]:
        """See Store. Lost connections are none of the caller's business."""
        return self._informers[kind].watch(since)

    def age(self, kind: str) -> float:
        """See Store."""
        return self._informers[kind].age()

    def busy(self) -> bool:
        """Whether a burst of status writes is on its way."""
        return self._writing >= BUSY_WRITES

    async def read(self, ref: ObjectRef) -> Resource:
        """See Store."""
        answer = await self._connection.request("GET", kind_of(ref.kind).path(ref.namespace, ref.name))
        if answer.code != _OK:
            raise read_failure(answer.code, answer.body, answer.retry_after)
        try:
            return decode(ref.kind, answer.body)
        except DecodeError as error:
            raise UnavailableError(str(error)) from None

    async def patch_status(self, ref: ObjectRef, status: Mapping[str, Any], *, version: int) -> Resource:
        """See Store. After a 429 no write goes out before the server's time is over."""
        if (wait := self._not_before - self._monotonic()) > 0:
            await asyncio.sleep(wait)
        body = msgspec.json.encode({"metadata": {"resourceVersion": str(version)}, "status": status})
        self._writing += 1
        try:
            answer = await self._connection.request(
                "PATCH",
                f"{kind_of(ref.kind).path(ref.namespace, ref.name)}/status?{_PATCH_QUERY}",
                body=body,
                content_type=MERGE_PATCH,
                seconds=CLIENT_TIMEOUT_SECONDS,
            )
        except UnavailableError as error:
            raise OutcomeUnknownError(str(error)) from None
        finally:
            self._writing -= 1
        if answer.code != _OK:
            failure = write_failure(answer.code, answer.body, answer.retry_after)
            if isinstance(failure, ThrottledError):
                self._not_before = max(self._not_before, self._monotonic() + failure.retry_after)
            raise failure
        try:
            return decode(ref.kind, answer.body)
        except DecodeError as error:
            # It was written, and what it made can't be read.
            raise OutcomeUnknownError(str(error)) from None
