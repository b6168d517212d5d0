"""Follows one kind on an API server: a list in pages, then watches, each from where the last one ended.

It survives whatever ends a watch, and says how old what it knows is. Only a version that the server no longer has goes
to the caller, who lists again and compares. It must not keep objects or interpret them.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, Protocol

import aiohttp
import msgspec

from berth_server.kube.connection import JSON_TYPE, METADATA_LIST, METADATA_ONLY, Connection
from berth_server.kube.kinds import Kind
from berth_server.kube.reconnect import Reconnect
from berth_server.kube.verdicts import UnavailableError, read_failure
from berth_server.kube.watchlines import LineSplitter, event_of
from berth_server.objects.decode import TOO_DEEP, decode_all
from berth_server.objects.nesting import containers, without
from berth_server.observability.metrics import Metrics
from berth_server.placement.ports import GoneError, KubeError, Listing, NotFoundError, WatchEvent

PAGE: Final = 500
TURN: Final = 64
"""Events in a row after which a backlog lets the other tasks of the loop run."""
WATCH_SECONDS: Final = 30
"""The server ends a watch after that long, a sixth more or less, and tells before how far it is: so a quiet view is
never older than this, and a resource version never ages."""
SILENCE_SECONDS: Final = 45.0
"""A watch that brings nothing for longer than it may live at all is dead, whatever the socket says."""
SAY_AGAIN_SECONDS: Final = 60.0
_OK: Final = 200
_ITEM_LEVEL: Final = 3


class Log(Protocol):
    """Where lines for people go."""

    def info(self, event: str, **values: Any) -> Any:
        """Write one line about what goes on."""
        ...

    def warning(self, event: str, **values: Any) -> Any:
        """Write one line about what passes or can be mended."""
        ...


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str
    continue_: str | None = msgspec.field(default=None, name="continue")


class Page(msgspec.Struct):
    """A page of a list, its items as they came."""

    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


_pages: Final = msgspec.json.Decoder(Page)


class Informer:
    """One kind. `list` and `watch` are for one caller, who alternates between them."""

    def __init__(
        self,
        kind: Kind,
        connection: Connection,
        metrics: Metrics,
        log: Log,
        monotonic: Callable[[], float],
        *,
        silence: float = SILENCE_SECONDS,
    ) -> None:
        self._kind = kind
        self._connection = connection
        self._metrics = metrics
        self._log = log
        self._monotonic = monotonic
        self._silence = silence
        self._reconnect = Reconnect()
        self._complete_at = monotonic()
        self._said = ""
        self._said_at = 0.0
        metrics.watch_last_event_age[kind.name].set_function(self.age)

    def age(self) -> float:
        """Return how many seconds ago the server last told something, or how long there has been no first list."""
        return self._monotonic() - self._complete_at

    async def list(self) -> AsyncIterator[Listing]:
        """Yield all objects, as new as the server's store. Waits until the server gives them, also for its API.

        After a failure it begins anew, with a first page.
        """
        while True:
            await asyncio.sleep(self._reconnect.wait(self._monotonic()))
            try:
                async for page in self._list():
                    yield page
            except KubeError as error:
                self._fail(error)
                continue
            self._reconnect.listed()
            self._succeed()
            return

    async def watch(self, since: int) -> AsyncIterator[WatchEvent]:
        """Yield all changes after `since`, over any number of watches.

        Raises GoneError when the server no longer has them, or no longer has the kind.
        """
        version = since
        while True:
            await asyncio.sleep(self._reconnect.wait(self._monotonic()))
            opened = self._monotonic()
            try:
                async for event in self._stream(version):
                    version = max(version, event.version)
                    yield event
            except (GoneError, NotFoundError) as error:
                self._ended("gone", error, opened)
                raise GoneError(str(error)) from None
            except KubeError as error:
                self._ended("error", error, opened)
            else:
                self._ended("closed", None, opened)

    # --- list -----------------------------------------------------------------------------------------------------

    async def _list(self) -> AsyncIterator[Listing]:
        """All pages are of one version: the first one's, which is the newest that the server's store has."""
        token = ""
        while True:
            page = await self._page(token)
            kind, version = self._kind.name, int(page.metadata.resource_version)
            rest = page.metadata.continue_ or ""
            yield Listing(kind, version, *decode_all(kind, page.items or ()), first=not token, last=not rest)
            if not rest:
                return
            token = rest

    async def _page(self, token: str) -> Page:
        params = {"limit": str(PAGE), **self._selection()}
        if token:
            params["continue"] = token
        accept = METADATA_LIST if self._kind.metadata_only else JSON_TYPE
        answer = await self._connection.request("GET", self._kind.path(), params=params, accept=accept)
        if answer.code != _OK:
            # 410 here: the list took so long that its version is gone. It starts anew, as after any failure.
            raise read_failure(answer.code, answer.body, answer.retry_after)
        try:
            return page_of(answer.body)
        except (msgspec.DecodeError, RecursionError) as error:
            raise UnavailableError(f"not a list: {error}") from None

    # --- watch ----------------------------------------------------------------------------------------------------

    async def _stream(self, version: int) -> AsyncIterator[WatchEvent]:
        spread = random.uniform(5 / 6, 7 / 6)  # noqa: S311 -- no secret: watches should not end all at once
        params = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": str(version),
            "timeoutSeconds": str(round(WATCH_SECONDS * spread)),
            **self._selection(),
        }
        path, accept = self._kind.path(), METADATA_ONLY if self._kind.metadata_only else JSON_TYPE
        async with self._connection.stream(path, params=params, accept=accept, silence=self._silence) as response:
            if response.status != _OK:
                raise read_failure(response.status, await response.read(), response.headers.get("Retry-After"))
            self._succeed()
            splitter, told, looked_at = LineSplitter(), 0, 0.0
            while chunk := await response.content.readany():
                self._complete_at = now = self._monotonic()
                for line in splitter.feed(chunk):
                    yield event_of(self._kind.name, line)
                    told += 1
                    if told % TURN == 0:
                        # A server that sends without a pause must not starve the rest of the loop.
                        await asyncio.sleep(0)
                if now - looked_at < self._kind.moderation:
                    await self._let_more_come(response)
                looked_at = self._monotonic()

    async def _let_more_come(self, response: aiohttp.ClientResponse) -> None:
        """Leave a busy stream alone for a moment: to be woken for each event costs twice what the event itself does."""
        transport = None if response.connection is None else response.connection.transport
        if transport is not None:
            transport.pause_reading()
            await asyncio.sleep(self._kind.moderation)
            transport.resume_reading()

    def _ended(self, cause: str, error: KubeError | None, opened: float) -> None:
        self._metrics.watch_restarts[self._kind.name, cause].inc()
        if error is None:
            now = self._monotonic()
            self._reconnect.closed(now, chance=_chance(), lived=now - opened)
        else:
            self._fail(error, lived=self._monotonic() - opened)

    # --- what both share ------------------------------------------------------------------------------------------

    def _selection(self) -> dict[str, str]:
        return {"labelSelector": self._kind.selector} if self._kind.selector else {}

    def _fail(self, error: KubeError, *, lived: float = 0.0) -> None:
        now = self._monotonic()
        retry_after = error.retry_after if isinstance(error, UnavailableError) else 0.0
        self._reconnect.failed(now, chance=_chance(), lived=lived, retry_after=retry_after)
        if isinstance(error, NotFoundError):
            api = f"{self._kind.group}/{self._kind.version}"
            said = f"the API server has no {self._kind.resource} of {api}: waiting until its CRD is installed"
        else:
            said = str(error)
        if said != self._said or now - self._said_at >= SAY_AGAIN_SECONDS:
            self._said, self._said_at = said, now
            self._log.warning(said, kind=self._kind.name)

    def _succeed(self) -> None:
        self._complete_at = self._monotonic()
        if self._said:
            self._said = ""
            self._log.info("the API server answers again", kind=self._kind.name)


def page_of(body: bytes) -> Page:
    """Decode an answer to a list. Raises msgspec.DecodeError or RecursionError if it is none."""
    try:
        return _pages.decode(body)
    except RecursionError:
        # Some object is nested too deeply. The others must be read all the same.
        spans = containers(body, _ITEM_LEVEL)
        page = _pages.decode(without(body, spans))
        if len(spans) != len(page.items or ()):
            raise msgspec.DecodeError(TOO_DEEP) from None
        return Page(page.metadata, [msgspec.Raw(body[start:end]) for start, end in spans])


def _chance() -> float:
    return random.random()  # noqa: S311 -- spreads retries
