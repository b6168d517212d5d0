"""What every call passes through: admission, deadline, error mapping, metrics, trace. It must not know any message.

Handlers are wrapped where they are registered. An interceptor of gRPC would do the same for every call anew, at a third
of what the call itself costs. Health and reflection are not held to the limit and stay open while the server drains: a
probe must get its answer.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext
from inspect import isasyncgen
from typing import Any, Final, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from grpc import StatusCode

from berth_server.observability.metrics import Metrics, ObserveCall
from berth_server.observability.tracing import OtelTracer
from berth_server.placement.failures import PlacementError, Reason
from berth_server.rpc import errors
from berth_server.rpc.admission import Admission, shutting_down
from berth_server.rpc.deadlines import Deadlines, time_remaining

DEADLINE_KEY: Final = "berth-deadline-seconds"
_OURS: Final = "/berth."
_DRAIN_SECONDS: Final = 0.2  # a watcher of health gets to see NOT_SERVING before its stream ends

Context = grpc.aio.ServicerContext[Any, Any]
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"  # generic in the stubs only
Behaviour = Callable[[Any, Context], Any]
_OPEN: Final[AbstractContextManager[Any]] = nullcontext()


class CallGuard:
    """Wraps the handler of every method that is registered through it. Unknown methods are nobody's, and uncounted.

    It stands for the server where services are added: `add_XServicer_to_server(servicer, guard)`. Without a `tracer`
    nobody looks at the metadata of a call.
    """

    def __init__(
        self,
        server: grpc.aio.Server,
        admission: Admission,
        metrics: Metrics,
        deadlines: Deadlines,
        tracer: OtelTracer | None = None,
    ) -> None:
        self._server = server
        self._admission = admission
        self._metrics = metrics
        self._deadlines = deadlines
        self._tracer = tracer
        self._now = deadlines.clock.monotonic
        self._streams: set[asyncio.Timeout] = set()
        self._draining = False

    def add_generic_rpc_handlers(self, handlers: Sequence[grpc.GenericRpcHandler]) -> None:
        """Register services, wrapped. Called by generated code."""
        self._server.add_generic_rpc_handlers([_Guarded(handler, self._wrap) for handler in handlers])

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Any]) -> None:
        """Do nothing: the asyncio server takes generic handlers only. Called by generated code."""

    @property
    def turned_away(self) -> int:
        """How many calls were refused since `drain`."""
        return self._admission.turned_away

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

        behaviour: Behaviour = answer
        if self._tracer is not None and method.startswith(_OURS):
            behaviour = _joining(self._tracer, answer)
        make = {
            (False, False): grpc.unary_unary_rpc_method_handler,
            (False, True): grpc.unary_stream_rpc_method_handler,
            (True, False): grpc.stream_unary_rpc_method_handler,
            (True, True): grpc.stream_stream_rpc_method_handler,
        }[handler.request_streaming, handler.response_streaming]
        deserializer = handler.request_deserializer if handler.request_streaming else None  # see _decoded
        wrapped: Handler = make(behaviour, deserializer, handler.response_serializer)
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
            raise _OutOfTimeError(f"No answer within {limit} s, the limit for a call without a deadline.") from None

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
        finally:
            observe(code.name, self._now() - started)
        # Sent last, so that whoever has the answer finds it counted.
        return await context.abort(
            status.code, status.details, (*context.trailing_metadata(), *status.trailing_metadata)
        )


class _Guarded(grpc.GenericRpcHandler):
    """Finds the handler of a call, wrapped once for each method."""

    def __init__(self, handlers: grpc.GenericRpcHandler, wrap: Callable[[str, Handler], Handler]) -> None:
        self._handlers = handlers
        self._wrap = wrap
        self._wrapped: dict[str, Handler] = {}  # bounded by the methods that the server has

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> "Handler | None":
        """Return the wrapped handler; None: another service may have it."""
        method = handler_call_details.method
        known = self._wrapped.get(method)
        if known is None:
            handler = self._handlers.service(handler_call_details)
            if handler is None:
                return None
            known = self._wrapped[method] = self._wrap(method, handler)
        return known


def _joining(tracer: OtelTracer, answer: Behaviour) -> Behaviour:
    """Answer in the trace that the caller's metadata names."""

    async def joined(request: Any, context: Context) -> Any:
        with tracer.join(context.invocation_metadata() or ()):
            return await answer(request, context)

    return joined


class _OutOfTimeError(Exception):
    """The server's own deadline is over."""


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
    if isinstance(error, _OutOfTimeError):
        return errors.plain_status(StatusCode.DEADLINE_EXCEEDED, str(error))
    return errors.status_of_bug(error, method=method, peer=context.peer())
