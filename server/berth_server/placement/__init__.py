"""The service: events in, answers out. Plain values on both sides; no protobuf, no Kubernetes JSON."""
