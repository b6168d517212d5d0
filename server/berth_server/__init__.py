"""The placement server. Layers and the flow of an event are described in ARCHITECTURE.md."""
