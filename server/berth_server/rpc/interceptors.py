"""What every call passes through: admission, deadline, error mapping, metrics. It must not know any message.

Health and reflection are not held to the limit and stay open while the server drains: a probe must get its answer.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractContextManager, aclosing, nullcontext
from inspect import isasyncgen
from typing import Any, Final, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from grpc import StatusCode

from berth_server.observability.metrics import Metrics, ObserveCall
from berth_server.placement.failures import PlacementError, Reason
from berth_server.rpc import errors
from berth_server.rpc.admission import Admission, shutting_down
from berth_server.rpc.deadlines import Deadlines, time_remaining

DEADLINE_KEY: Final = "berth-deadline-seconds"
_OURS: Final = "/berth."
_DRAIN_SECONDS: Final = 0.2  # a watcher of health gets to see NOT_SERVING before its stream ends

Context = grpc.aio.ServicerContext[Any, Any]
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"  # generic in the stubs only
Continuation: TypeAlias = Callable[[grpc.HandlerCallDetails], "Awaitable[Handler | None]"]
Behaviour = Callable[[Any, Context], Any]
_OPEN: Final[AbstractContextManager[Any]] = nullcontext()


class CallInterceptor(grpc.aio.ServerInterceptor):
    """Wraps the handler of every method that the server has. Unknown methods pass untouched and uncounted."""

    def __init__(
        self,
        admission: Admission,
        metrics: Metrics,
        deadlines: Deadlines,
    ) -> None:
        self._admission = admission
        self._metrics = metrics
        self._deadlines = deadlines
        self._now = deadlines.clock.monotonic
        self._wrapped: dict[str, tuple[Handler, Handler]] = {}  # one entry for each method that the server has
        self._streams: set[asyncio.Timeout] = set()
        self._draining = False

    async def intercept_service(
        self,
        continuation: Continuation,
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "Handler | None":
        """Return the wrapped handler, made once for each method."""
        method = handler_call_details.method
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        known = self._wrapped.get(method)
        if known is None or known[0] is not handler:
            known = self._wrapped[method] = (handler, self._wrap(method, handler))
        return known[1]

    def drain(self) -> None:
        """Refuse new calls of our services with SHUTTING_DOWN, and end streams with it. Unary calls go on."""
        self._draining = True
        self._admission.close()
        end = asyncio.get_running_loop().time() + _DRAIN_SECONDS
        for stream in self._streams:
            stream.reschedule(end)

    def _wrap(self, method: str, handler: Handler) -> Handler:
        _, service, name = method.split("/")
        observe = self._metrics.call_observer(service, name)
        work = self._streaming(handler) if handler.response_streaming else self._unary(method, handler)

        # grpc.aio asks whether this is a coroutine function, so it can be no partial and no callable object.
        async def answer(request: Any, context: Context) -> Any:
            return await self._observed(method, observe, context, work(request, context))

        make = {
            (False, False): grpc.unary_unary_rpc_method_handler,
            (False, True): grpc.unary_stream_rpc_method_handler,
            (True, False): grpc.stream_unary_rpc_method_handler,
            (True, True): grpc.stream_stream_rpc_method_handler,
        }[handler.request_streaming, handler.response_streaming]
        deserializer = handler.request_deserializer if handler.request_streaming else None  # see _decoded
        wrapped: Handler = make(answer, deserializer, handler.response_serializer)
        return wrapped

    def _unary(self, method: str, handler: Handler) -> Behaviour:
        gate = self._admission if method.startswith(_OURS) else _OPEN
        behaviour: Behaviour = handler.unary_unary or handler.stream_unary  # type: ignore[assignment]

        async def work(request: Any, context: Context) -> Any:
            with gate:
                return await self._in_time(behaviour, _decoded(handler, request), context)

        return work

    def _streaming(self, handler: Handler) -> Behaviour:
        behaviour: Behaviour = handler.unary_stream or handler.stream_stream  # type: ignore[assignment]

        async def work(request: Any, context: Context) -> None:
            answer: Any = behaviour(_decoded(handler, request), context)
            if isasyncgen(answer):
                answer = _write_all(answer, context)
            await self._until_drained(answer)

        return work

    async def _in_time(self, behaviour: Behaviour, request: Any, context: Context) -> Any:
        """Call with the server's own deadline if the client set none (else gRPC itself cancels in time)."""
        if time_remaining(context) is not None:
            return await behaviour(request, context)
        limit = f"{self._deadlines.default:g}"
        context.set_trailing_metadata(((DEADLINE_KEY, limit),))
        scope = asyncio.timeout(self._deadlines.default)
        try:
            async with scope:
                return await behaviour(request, context)
        except TimeoutError:
            if not scope.expired():
                raise
            sentence = f"No answer within {limit} s, the limit for a call without a deadline: set one."
            await context.abort(StatusCode.DEADLINE_EXCEEDED, sentence, context.trailing_metadata())

    async def _until_drained(self, work: Awaitable[None]) -> None:
        scope = asyncio.timeout(_DRAIN_SECONDS if self._draining else None)
        self._streams.add(scope)
        try:
            async with scope:
                await work
        except TimeoutError:
            if not scope.expired():
                raise
            raise shutting_down() from None
        finally:
            self._streams.discard(scope)

    async def _observed(self, method: str, observe: ObserveCall, context: Context, work: Awaitable[Any]) -> Any:
        started = self._now()
        code = StatusCode.OK
        try:
            return await work
        except grpc.aio.BaseError:  # aborted by the handler, or the transport is gone
            # The stubs say StatusCode; the implementation answers None when nobody set one.
            aborted_with: StatusCode | None = context.code()
            code = StatusCode.CANCELLED if aborted_with is None else aborted_with
            raise
        except asyncio.CancelledError:
            code = StatusCode.DEADLINE_EXCEEDED if time_remaining(context) == 0 else StatusCode.CANCELLED
            raise
        except Exception as error:  # noqa: BLE001 - this is where bugs end
            status = _status(error, method, context)
            code = status.code
            await context.abort(code, status.details, (*context.trailing_metadata(), *status.trailing_metadata))
        finally:
            observe(code.name, self._now() - started)


async def _write_all(messages: AsyncGenerator[Any, Any], context: Context) -> None:
    async with aclosing(messages):
        async for message in messages:
            await context.write(message)


def _decoded(handler: Handler, request: Any) -> Any:
    """Decode here and not in gRPC, which would answer UNKNOWN with the text of the exception."""
    if handler.request_streaming or handler.request_deserializer is None:
        return request
    try:
        return handler.request_deserializer(request)
    except DecodeError:
        raise PlacementError(Reason.INVALID_FIELD, "The request is not a message of this method's type.") from None


def _status(error: Exception, method: str, context: Context) -> grpc.Status:
    if isinstance(error, PlacementError):
        return errors.status_of(error)
    if isinstance(error, NotImplementedError) and context.code() is StatusCode.UNIMPLEMENTED:
        return errors.unimplemented(method)
    return errors.status_of_bug(error, method=method, peer=context.peer())
