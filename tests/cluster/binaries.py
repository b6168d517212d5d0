"""kube-apiserver and etcd for tests: found in KUBEBUILDER_ASSETS, or built once from their published Go modules.

Run as a program it makes sure that they are there, and prints where; without Go and without assets it ends with one
line and exit code 1. What is built depends on `apiserver/go.mod` alone, so the cache is keyed by it.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

MODULE: Final = Path(__file__).parent / "apiserver"
ASSETS: Final = "KUBEBUILDER_ASSETS"
MISSING: Final = f"no API server to test against: install Go, or set {ASSETS} to a folder with kube-apiserver and etcd"
PACKAGES: Final = {"etcd": "go.etcd.io/etcd/server/v3", "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver"}
PROGRESS_SECONDS: Final = 15.0
"""Between two lines of progress where there is no terminal: a build of eight silent minutes looks like a hang."""


class BuildError(Exception):
    """The binaries can't be had. The message is one line."""


@dataclass(frozen=True)
class Binaries:
    """Where the two programs are."""

    apiserver: Path
    etcd: Path


def find() -> Binaries | None:
    """Return the binaries that are there without a build. Raises BuildError if KUBEBUILDER_ASSETS lacks one."""
    assets = os.environ.get(ASSETS)
    folder = Path(assets) if assets else _cache()
    found = Binaries(folder / "kube-apiserver", folder / "etcd")
    lacking = [path.name for path in (found.apiserver, found.etcd) if not path.is_file()]
    if assets and lacking:
        raise BuildError(f"{ASSETS}={assets} has no {' and no '.join(lacking)}")
    return None if lacking else found


def obtain(progress: TextIO) -> Binaries | None:
    """Return the binaries, building what is missing; None: there is no Go. Raises BuildError."""
    found = find()
    if found is not None or shutil.which("go") is None:
        return found
    folder = _cache()
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / "lock", progress):
        for name, package in PACKAGES.items():
            if not (folder / name).is_file():
                _build(folder / name, package, progress)
    return find()


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    key = hashlib.sha256((MODULE / "go.mod").read_bytes()).hexdigest()[:16]
    return Path(base) / "berth" / "apiserver" / key


@contextmanager
def _locked(path: Path, progress: TextIO) -> Iterator[None]:
    """Hold the only right to build. The kernel gives it back when the process dies."""
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("waiting for another build of the API server", file=progress, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(target: Path, package: str, progress: TextIO) -> None:
    """Build one program; it appears under its name only when it is whole."""
    new = target.with_suffix(".new")
    stamp = f"-X k8s.io/component-base/version.gitVersion={_version()}"
    command = ["go", "build", "-v", "-trimpath", "-ldflags", f"-s -w {stamp}", "-o", str(new), package]
    last: list[str] = []
    started = said = time.monotonic()
    with subprocess.Popen(command, cwd=MODULE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for count, line in enumerate(process.stderr, 1):
            last = [*last[-4:], line.strip()]
            now = time.monotonic()
            if progress.isatty() or now - said >= PROGRESS_SECONDS or count == 1:
                said = now
                end = "\r" if progress.isatty() else "\n"
                text = f"building {target.name}: {count} packages, {now - started:.0f} s (8 minutes the first time)"
                print(text, end=end, file=progress, flush=True)
    if process.returncode:
        raise BuildError(f"{target.name} can't be built: {' | '.join(last) or 'go says nothing'}")
    new.rename(target)
    print(f"built {target} in {time.monotonic() - started:.0f} s", file=progress, flush=True)


def _version() -> str:
    pinned = re.search(r"\bk8s\.io/kubernetes (v\S+)", (MODULE / "go.mod").read_text())
    assert pinned is not None, "go.mod pins no k8s.io/kubernetes"
    return pinned[1]


def main() -> int:
    """Make sure that the binaries are there."""
    try:
        found = obtain(sys.stderr)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    if found is None:
        print(MISSING, file=sys.stderr)
        return 1
    print(found.apiserver.parent)
    return 0


if __name__ == "__main__":
    sys.exit(main())
