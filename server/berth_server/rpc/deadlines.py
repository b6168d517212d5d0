"""Until when a call may wait. A call without a deadline gets one from the server: nothing waits for ever."""

from dataclasses import dataclass, field
from typing import Any

import grpc.aio

from berth_server.objects.clock import Clock, SystemClock


@dataclass(frozen=True, slots=True)
class Deadlines:
    """The server's rule: `default` seconds for a unary call whose client set no deadline."""

    default: float = 30.0
    clock: Clock = field(default_factory=SystemClock)

    def until(self, context: grpc.aio.ServicerContext[Any, Any]) -> float:
        """Return the instant on the monotonic clock at which the call is out of time."""
        remaining = time_remaining(context)
        return self.clock.monotonic() + (self.default if remaining is None else remaining)


def time_remaining(context: grpc.aio.ServicerContext[Any, Any]) -> float | None:
    """Seconds until the client's deadline, or None if it set none."""
    # The stubs say float; the implementation answers None for an infinite deadline.
    remaining: float | None = context.time_remaining()
    return remaining
