"""The API server of these tests: built before they run if need be, one for all that leave it as it was."""

import sys
from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
import uvloop

from tests.cluster.binaries import MISSING, Binaries, BuildError, find, obtain
from tests.cluster.gates import workload_flags
from tests.cluster.processes import Cluster, running
from tests.cluster.secured import Secured, secured_by
from tests.needs import skip

HERE = Path(__file__).parent
CRDS = HERE / "crds"


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], AbstractEventLoop]]:
    """Run these tests on the event loop that the server runs on."""
    return {"uvloop": uvloop.new_event_loop}


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build outside of any test, whose time is limited, and where the progress can be seen."""
    wanted = any(HERE in item.path.parents and item.get_closest_marker("cluster") for item in session.items)
    if not wanted or session.config.option.collectonly:
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    try:
        with capture.global_and_fixture_disabled():
            obtain(sys.stderr)
    except BuildError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.fixture(scope="session")
def binaries() -> Binaries:
    """The two programs; without them the test is skipped, and fails in CI."""
    return find() or skip(MISSING)


@pytest.fixture(scope="session")
def shared_cluster(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One API server for every test that keeps to its own namespaces and leaves the server alone.

    It serves the Workload API, and all its gates are open.
    """
    with running(binaries, tmp_path_factory.mktemp("cluster"), CRDS, flags=workload_flags()) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def secured(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """One API server whose certificate can be verified, for every test of credentials."""
    with secured_by(binaries, tmp_path_factory.mktemp("secured")) as api:
        yield api


@pytest.fixture
def new_cluster(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Cluster]]:
    """Start API servers of a test's own, to be killed, compacted and restarted."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(running(binaries, tmp_path_factory.mktemp("own"), CRDS))


@pytest.fixture
def bare_cluster(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """An API server that does not know our custom resources yet."""
    folder = tmp_path_factory.mktemp("bare")
    with running(binaries, folder, folder / "none") as cluster:
        yield cluster
