"""Serves reflection, so that grpcurl needs no proto files. It must not list what clients are not to call."""

from collections.abc import Sequence
from typing import Any, Final

import grpc
import grpc.aio
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import FileDescriptor
from grpc_reflection.v1alpha import reflection, reflection_pb2, reflection_pb2_grpc

SERVICE_NAME: Final[str] = reflection.SERVICE_NAME
_V1: Final = "grpc.reflection.v1.ServerReflection"


class _Pool:
    """The pool of this process, in which methods are found too: protobuf's own search does not know their names.

    `grpcurl describe service.Method` asks for them.
    """

    def __init__(self) -> None:
        self._pool = descriptor_pool.Default()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)

    def FindFileContainingSymbol(self, symbol: str) -> FileDescriptor:  # noqa: N802 -- protobuf's name
        """Return the file. Raises KeyError."""
        try:
            return self._pool.FindFileContainingSymbol(symbol)
        except KeyError:
            return self._pool.FindMethodByName(symbol).containing_service.file


def add_reflection(server: grpc.aio.Server, services: Sequence[str]) -> None:
    """Serve v1alpha, and under the name of v1 the same handler: the messages are the same on the wire."""
    pool: Any = _Pool()
    servicer: Any = reflection.aio.ReflectionServicer(services, pool)
    reflection_pb2_grpc.add_ServerReflectionServicer_to_server(servicer, server)
    handler = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    methods = {"ServerReflectionInfo": handler}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_V1, methods),))
