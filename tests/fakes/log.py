"""Logs that keep what they are told."""

from typing import Any


class NullLog:
    """Keeps lines as (event, values)."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []

    def warning(self, event: str, **values: Any) -> None:
        """See Log."""
        self.lines.append((event, values))

    info = exception = warning
