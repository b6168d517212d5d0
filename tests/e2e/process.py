"""berth-server as a process: started with flags, watched by its log lines, ended by signals.

Every wait has a deadline and none is a sleep.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

COMMAND = str(Path(sys.executable).parent / "berth-server")
ROOT = Path(__file__).parents[2]
QUICKSTART = ROOT / "examples" / "quickstart.yaml"
ANY_PORT = "127.0.0.1:0"
DEADLINE = 60
"""Seconds, as all of these. Wide: it is reached only by what hangs."""


def environment() -> dict[str, str]:
    """Return ours without what would set the server up."""
    return {name: value for name, value in os.environ.items() if not name.startswith("BERTH_")}


class Process:
    """A server that was started. `stdin` is a pipe that is open until the end."""

    def __init__(self, *flags: str, wrapper: Sequence[str] = ()) -> None:
        self._stderr = tempfile.TemporaryFile("w+")  # noqa: SIM115 -- closed by close
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.said: list[str] = []
        self.listen: list[str] = []
        self.popen = subprocess.Popen(  # noqa: S603 -- flags of the tests
            [*wrapper, COMMAND, "serve", *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
            env=environment(),
            cwd=ROOT,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def line(self) -> str | None:
        """Return the next line of stdout, None at its end. Raises queue.Empty after the deadline."""
        line = self._lines.get(timeout=DEADLINE)
        if line is not None:
            self.said.append(line.rstrip("\n"))
        return line

    def until(self, message: str) -> dict[str, Any]:
        """Return the log line with that message, as soon as it is there."""
        while (line := self.line()) is not None:
            if line.startswith("{") and (said := json.loads(line))["msg"] == message:
                return dict(said)
        raise AssertionError(f"the server ended without saying {message!r}: {self.stderr()}")

    def until_serving(self) -> str:
        """Return the first address that it listens on, once it serves; all of them are in `listen`."""
        self.listen = self.until("serving")["listen"]
        return self.listen[0]

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.popen.send_signal(number)

    def exit_code(self) -> int:
        """Wait until it has ended, and return how."""
        while self.line() is not None:
            pass
        return self.popen.wait(DEADLINE)

    def stderr(self) -> str:
        """Return what it wrote there up to now."""
        self._stderr.seek(0)
        return self._stderr.read()

    def close(self) -> None:
        """End it by force, if it has not ended."""
        self.popen.kill()
        self.popen.wait(DEADLINE)
        self._reader.join(DEADLINE)
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        self.popen.stdin.close()
        self.popen.stdout.close()
        self._stderr.close()


@contextmanager
def process(*flags: str, wrapper: Sequence[str] = ()) -> Iterator[Process]:
    """Start berth-server with flags; whatever happens, it is gone afterwards.

    `wrapper`: a command that runs the command after it.
    """
    started = Process(*flags, wrapper=wrapper)
    try:
        yield started
    finally:
        started.close()


@contextmanager
def serving(*flags: str, cluster: Path = QUICKSTART) -> Iterator[tuple[Process, str]]:
    """Serve a cluster on a free port, and yield the process and that address once it serves."""
    with process("--cluster", str(cluster), "--listen", ANY_PORT, "--metrics-listen", "off", *flags) as started:
        yield started, started.until_serving()


@contextmanager
def short_directory() -> Iterator[Path]:
    """Make a folder for sockets: their paths must be shorter than pytest's folders may be."""
    with tempfile.TemporaryDirectory(prefix="berth-") as name:
        yield Path(name)
