"""Every grpcurl line of the documents works as printed, in the order of its page, on the quickstart without a driver.

Its JSON is parsed and sent here as grpcurl would, so the binary is not needed.
"""

import asyncio
import re
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import grpc.aio
import pytest
from google.protobuf import descriptor_pool, json_format, message_factory
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from berth_server.app.wiring import build_parts
from berth_server.config.addresses import TcpAddress
from berth_server.config.file import Config
from berth_server.config.settings import Settings
from berth_server.rpc.server import build_server
from tests.fakes.log import NullLog
from tests.unit.docs import markdown
from tests.unit.docs.markdown import ROOT

QUICKSTART: Final = ROOT / "examples" / "quickstart.yaml"
PRINTED: Final = "127.0.0.1:50051"
LIMIT_SECONDS: Final = 30
_COMMAND: Final = re.compile(r"^(?:\$ )?(?=grpcurl )", re.MULTILINE)


def commands(document: Path) -> list[list[str]]:
    """Return the words of every command in the blocks that start with one, as a shell reads them.

    A block of `sh` is to be pasted; in one of `console` commands have a prompt.
    """
    text = document.read_text(encoding="utf-8").replace("\\\n", "")
    lines = "\n".join(block for block in markdown.blocks(text, "sh", "console") if _COMMAND.match(block))
    return [shlex.split(command) for command in _COMMAND.split(lines) if command]


WITH_COMMANDS: Final = [document for document in markdown.documents() if commands(document)]


@asynccontextmanager
async def channel_to_quickstart() -> AsyncIterator[grpc.aio.Channel]:
    """Serve the quickstart as `--driver off` does, on a port of its own."""
    parts = build_parts(Settings(cluster=str(QUICKSTART), metrics_listen=None, driver="off"), Config(), NullLog())
    address = TcpAddress("127.0.0.1", 0)
    server = build_server([address], parts.service, parts.service.inspector, parts.metrics)
    await server.start()
    await parts.service.start()
    await server.set_synced(synced=True)
    async with grpc.aio.insecure_channel(str(server.addresses[0])) as channel:
        yield channel
    await parts.service.drain()
    await server.stop(0)
    await parts.service.stop()


async def services_on(channel: grpc.aio.Channel) -> set[str]:
    """Return what `grpcurl list` would print."""
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
    call = stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
    async for answer in call:
        return {service.name for service in answer.list_services_response.service}
    raise AssertionError("reflection did not answer")


async def call(channel: grpc.aio.Channel, name: str, content: str) -> Any:
    """Call `package.Service/Method` with JSON. Raises AioRpcError, and ParseError for JSON that is no such message."""
    service, _, method = name.partition("/")
    found = descriptor_pool.Default().FindServiceByName(service).methods_by_name[method]
    request = json_format.Parse(content, message_factory.GetMessageClass(found.input_type)())
    send: grpc.aio.UnaryUnaryMultiCallable[Any, Any] = channel.unary_unary(
        f"/{name}",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=message_factory.GetMessageClass(found.output_type).FromString,
    )
    return await send(request)


async def run(channel: grpc.aio.Channel, words: list[str]) -> None:
    """Do what one command does, on `channel` instead of the address that it names."""
    program, plaintext, *rest = words
    assert (program, plaintext) == ("grpcurl", "-plaintext")
    content = "{}"
    if rest[0] == "-d":
        content, rest = rest[1], rest[2:]
    address, what, *names = rest
    assert address == PRINTED
    if what in {"list", "describe"}:
        assert {*names} <= await services_on(channel)
    else:
        await call(channel, what, content)


@pytest.mark.parametrize("document", [pytest.param(path, id=markdown.name_of(path)) for path in WITH_COMMANDS])
async def test_every_line_works_as_printed(document: Path) -> None:
    """All commands of one page, one after another."""
    async with asyncio.timeout(LIMIT_SECONDS), channel_to_quickstart() as channel:
        for words in commands(document):
            try:
                await run(channel, words)
            except grpc.aio.AioRpcError as error:
                pytest.fail(f"{shlex.join(words)}: {error.code().name}: {error.details()}")


def test_there_are_lines_to_try() -> None:
    """The pages that teach calls have some, and health is known to this test."""
    assert {path.name for path in WITH_COMMANDS} >= {"README.md", "api.md", "operations.md"}
    assert health_pb2.DESCRIPTOR.services_by_name["Health"].full_name == "grpc.health.v1.Health"
