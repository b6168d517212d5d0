"""etcd and kube-apiserver as processes of a test: started on free loopback ports, killed, restarted, always torn down.

Starting never blocks; readiness is asked for apart, so that a test whose event loop serves Berth can wait for it in a
thread. No controllers run: nothing claims, reaps or collects what a test does not.
"""

import base64
import json
import secrets
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import yaml

from tests.cluster.binaries import Binaries

READY_SECONDS: Final = 60.0
USERS: Final = {"admin": "system:masters", "nobody": "tests"}
"""User -> group. `admin` may do everything; `nobody` has no right at all."""
# The program must not outlive a test process that is killed, which runs no finaliser: PR_SET_PDEATHSIG, SIGKILL.
_LAUNCHER: Final = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); os.execv(sys.argv[1], sys.argv[1:])"


def free_port() -> int:
    """Return a loopback port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Process:
    """One program. Its output goes to a file, whose end is told when it fails."""

    def __init__(self, command: list[str], log: Path) -> None:
        self._command = command
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; returns at once. Call it on the main thread: the process dies with the thread that started it."""
        assert self._process is None
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _LAUNCHER, *self._command], stdout=output, stderr=output
            )

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Wait until `ready`; a process that ended, or a minute, is an error with the last lines of its log."""
        deadline = time.monotonic() + READY_SECONDS
        while not ready():
            ended = self._process is None or self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                tail = self._log.read_text(errors="replace")[-2000:]
                raise RuntimeError(f"{Path(self._command[0]).name} {'ended' if ended else 'is not ready'}: {tail}")
            time.sleep(0.05)


class Cluster:
    """An API server with its etcd, both with their data in `folder`. `url` stays the same over restarts."""

    def __init__(self, binaries: Binaries, folder: Path, *, flags: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.tokens = {user: secrets.token_hex(16) for user in USERS}
        self._etcd_url = f"http://127.0.0.1:{free_port()}"
        port = free_port()
        self.url = f"https://127.0.0.1:{port}"
        self.etcd = Process(self._etcd_command(binaries), folder / "etcd.log")
        self._apiserver_base = self._apiserver_command(binaries, port)
        self.apiserver = self._apiserver(flags)
        (folder / "tokens.csv").write_text(
            "".join(f'{token},{user},{user},"{USERS[user]}"\n' for user, token in self.tokens.items())
        )
        (folder / "sa.key").write_text(_signing_key())

    def start(self) -> None:
        """Start both and wait until they serve."""
        self.etcd.start()
        self.etcd.wait_until(self._etcd_ready)
        self.apiserver.start()
        self.wait_ready()

    def wait_ready(self) -> None:
        """Wait until the API server serves."""
        self.apiserver.wait_until(self._ready)

    def restart(self, flags: tuple[str, ...]) -> None:
        """Kill the API server and run it anew on the same data, with other `flags`. Waits until it serves."""
        self.apiserver.kill()
        self.apiserver = self._apiserver(flags)
        self.apiserver.start()
        self.wait_ready()

    def stop(self) -> None:
        """End both."""
        self.apiserver.kill()
        self.etcd.kill()

    @property
    def certificate(self) -> Path:
        """What to trust: the API server made its own certificate."""
        return self.folder / "certificates" / "apiserver.crt"

    def compact(self) -> None:
        """Make etcd forget every version but the newest."""
        self._etcd_call("kv/compaction", {"revision": self.revision(), "physical": True})

    def revision(self) -> int:
        """Return the newest version of anything."""
        answer = self._etcd_call("kv/range", {"key": base64.b64encode(b"/").decode(), "limit": 1})
        return int(answer["header"]["revision"])

    def history(self, resource: str, since: int) -> Iterator[tuple[str, int, dict[str, Any]]]:
        """Yield (type, version, object) of every change of a custom resource after `since`, as etcd has them.

        Whatever became of the API server meanwhile. A deletion comes with the object as it was.
        """
        prefix, whole = f"/registry/{resource}/", ("/registry/", "/registry0")
        key, range_end = (base64.b64encode(text.encode()).decode() for text in whole)
        create = {"key": key, "range_end": range_end, "start_revision": since + 1, "prev_kv": True}
        newest = self.revision()
        # One write that the watch must show, so that its end can be told; nobody else reads that key.
        self._etcd_call("kv/put", {"key": base64.b64encode(b"/registry/~").decode(), "value": ""})
        body = json.dumps({"create_request": create}).encode()
        request = urllib.request.Request(f"{self._etcd_url}/v3/watch", body, method="POST")
        with urllib.request.urlopen(request, timeout=30) as response:
            for line in response:
                for event in json.loads(line)["result"].get("events", ()):
                    version = int(event["kv"]["mod_revision"])
                    if version > newest:
                        return
                    if not base64.b64decode(event["kv"]["key"]).startswith(prefix.encode()):
                        continue
                    deleted = event.get("type") == "DELETE"
                    found = json.loads(base64.b64decode(event["prev_kv" if deleted else "kv"]["value"]))
                    yield "DELETED" if deleted else "MODIFIED", version, found

    def kubeconfig(self, user: str = "admin", *, server: str = "") -> Path:
        """Write a kubeconfig for that user; `server` in place of the API server, for a proxy in front of it."""
        cluster = {"server": server or self.url, "insecure-skip-tls-verify": True}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": self.tokens[user]}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}],
        }
        path = self.folder / f"kubeconfig-{secrets.token_hex(4)}"
        path.write_text(yaml.safe_dump(content))
        return path

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send one request as admin and return the decoded answer; for what comes before Berth is there."""
        headers = {"Authorization": f"Bearer {self.tokens['admin']}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, context=unverified(), timeout=10) as response:
            text = response.read().decode()
        return json.loads(text) if text.startswith("{") else text

    def _apiserver(self, flags: tuple[str, ...]) -> Process:
        return Process([*self._apiserver_base, *flags], self.folder / "apiserver.log")

    def _ready(self) -> bool:
        try:
            return bool(self.call("GET", "/readyz") == "ok")
        except (OSError, urllib.error.URLError):
            return False

    def _etcd_ready(self) -> bool:
        try:
            self._etcd_call("maintenance/status", {})
        except (OSError, urllib.error.URLError):
            return False
        return True

    def _etcd_call(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(f"{self._etcd_url}/v3/{path}", json.dumps(body).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=10) as response:
            answer: dict[str, Any] = json.load(response)
        return answer

    def _etcd_command(self, binaries: Binaries) -> list[str]:
        peers = f"http://127.0.0.1:{free_port()}"
        return [
            str(binaries.etcd),
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={self._etcd_url}",
            f"--advertise-client-urls={self._etcd_url}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            "--unsafe-no-fsync",
            "--log-level=error",
        ]

    def _apiserver_command(self, binaries: Binaries, port: int) -> list[str]:
        return [
            str(binaries.apiserver),
            f"--etcd-servers={self._etcd_url}",
            f"--secure-port={port}",
            "--bind-address=127.0.0.1",
            f"--cert-dir={self.folder / 'certificates'}",
            # It would refuse 127.0.0.1 as the address of the Service `kubernetes`.
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.0.0.0/24",
            f"--service-account-key-file={self.folder / 'sa.key'}",
            f"--service-account-signing-key-file={self.folder / 'sa.key'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount",
            "--max-requests-inflight=3000",
            "--max-mutating-requests-inflight=1000",
        ]


@contextmanager
def running(binaries: Binaries, folder: Path, crds: Path, *, flags: tuple[str, ...] = ()) -> Iterator[Cluster]:
    """Run a cluster that serves our custom resources, and end it whatever happens."""
    cluster = Cluster(binaries, folder, flags=flags)
    try:
        cluster.start()
        for path in sorted(crds.glob("*.yaml")):
            install(cluster, path)
        yield cluster
    finally:
        cluster.stop()


def install(cluster: Cluster, path: Path) -> None:
    """Create a CustomResourceDefinition and wait until it is served."""
    crd = yaml.safe_load(path.read_text())
    spec = crd["spec"]
    cluster.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
    served = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
    cluster.apiserver.wait_until(lambda: _served(cluster, served))


def _served(cluster: Cluster, path: str) -> bool:
    try:
        cluster.call("GET", path)
    except urllib.error.HTTPError:
        return False
    return True


def unverified() -> ssl.SSLContext:
    """Return the TLS of a client that takes the API server's own certificate as it is."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _signing_key() -> str:
    """Return a new P-256 private key as PEM (SEC 1), which is what service account tokens are signed with."""
    # 31 random bytes are below the order of the curve whatever they are.
    secret = b"\x00" + secrets.token_bytes(31)
    curve = bytes.fromhex("06082a8648ce3d030107")
    fields = b"\x02\x01\x01" + b"\x04\x20" + secret + b"\xa0" + bytes([len(curve)]) + curve
    encoded = base64.encodebytes(b"\x30" + bytes([len(fields)]) + fields).decode()
    return f"-----BEGIN EC PRIVATE KEY-----\n{encoded}-----END EC PRIVATE KEY-----\n"
