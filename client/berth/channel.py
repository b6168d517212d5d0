"""How the SDK reaches a server: what is retried, what is kept alive, how large an answer may be."""

import json
from collections.abc import Sequence
from typing import Any, Final

import grpc.aio

DEFAULT_TARGET: Final = "127.0.0.1:50051"
MAX_RESPONSE_BYTES: Final = 16 * 2**20
SERVICES: Final = ("berth.v1.PlacementService", "berth.v1.InspectionService")

# Calls are idempotent by their natural keys (an item is reserved or assigned once), so all of them may be repeated, but
# only when the server was not there: every other code says something about the request.
SERVICE_CONFIG: Final = {
    "methodConfig": [
        {
            "name": [{"service": service} for service in SERVICES],
            "retryPolicy": {
                "maxAttempts": 4,
                "initialBackoff": "0.1s",
                "maxBackoff": "2s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ]
}

OPTIONS: Final = (
    ("grpc.service_config", json.dumps(SERVICE_CONFIG)),
    ("grpc.enable_retries", 1),
    ("grpc.max_receive_message_length", MAX_RESPONSE_BYTES),
    # Half-open connections are noticed; the server allows a ping every 10 s.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
)


def open_channel(target: str = DEFAULT_TARGET, *, options: Sequence[tuple[str, Any]] = ()) -> grpc.aio.Channel:
    """Open a channel to `host:port` or `unix:///path`, without encryption. `options` win over those of the SDK.

    Needs a running event loop; connects with the first call.
    """
    merged = {**dict(OPTIONS), **dict(options)}
    return grpc.aio.insecure_channel(target, options=list(merged.items()))
