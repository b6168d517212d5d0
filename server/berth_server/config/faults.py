"""What is wrong with the operator's input, all of it at once."""

from collections.abc import Sequence


class ConfigError(ValueError):
    """The configuration can't be used. `faults`: one sentence each, which starts with where it is. One line each."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = tuple(faults)
