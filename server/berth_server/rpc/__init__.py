"""gRPC around placement: decode, call, encode. No decision is taken here, and no message leaves this package."""
