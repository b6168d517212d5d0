"""WorkspacePlacement: a Run goes where its workspace is bound, and nowhere if that place is lost."""

from typing import Any

import numpy as np
import pytest

from berth_server.config.file import PluginConfig
from berth_server.framework.engine import Cycle
from berth_server.framework.profile import build
from berth_server.plugins import REGISTRY
from berth_server.state.view import Workspace
from tests.builders import candidate, cycle_of, item, reasons_in, state_of

PODS = (candidate("p1"), candidate("p2"), candidate("q1", runtime="js"), candidate("p9", namespace="other"))
BOTH = ("p1", "p2")


def workspace(phase: str = "Bound", pod: str = "p1", uid: str = "", *, runtime: str = "py") -> Workspace:
    """Build the workspace w of namespace ns."""
    return Workspace("w-uid", "ns", "w", 1, runtime, phase, pod, uid)


def cycle_with(found: Workspace | None, unbound: str = "ignore", name: str | None = "w") -> Cycle:
    """Prepare a Run with a workspace on the Pods."""
    profile = build("test", [PluginConfig("WorkspacePlacement", arguments={"unbound": unbound})], REGISTRY)
    things: tuple[Any, ...] = PODS if found is None else (*PODS, found)
    return cycle_of(state_of(*things), item("judged", workspace=name), profile)


def everywhere(reason: str) -> dict[str, str]:
    """The same reason on every Pod of the pool."""
    return dict.fromkeys(BOTH, reason)


@pytest.mark.parametrize(
    ("found", "want"),
    [
        pytest.param(workspace(), {"p1": "", "p2": "WorkspacePinned"}, id="bound to a Pod by name"),
        pytest.param(workspace(uid="ns/p1"), {"p1": "", "p2": "WorkspacePinned"}, id="bound to that very Pod"),
        pytest.param(workspace(uid="old"), everywhere("WorkspaceLost"), id="bound to an earlier Pod of the name"),
        pytest.param(workspace(pod="p3"), everywhere("WorkspaceLost"), id="bound to a Pod that is gone"),
        pytest.param(workspace(pod="p9"), everywhere("WorkspaceLost"), id="that name is in another namespace"),
        pytest.param(workspace(pod="q1"), everywhere("WorkspacePinned"), id="bound to a Pod of another pool"),
        pytest.param(workspace(runtime="js"), everywhere("WorkspaceMismatch"), id="of another runtime"),
        pytest.param(workspace(runtime=""), everywhere("WorkspaceMismatch"), id="of no runtime"),
        pytest.param(workspace("Lost", runtime="js"), everywhere("WorkspaceMismatch"), id="mismatch before lost"),
        pytest.param(workspace("Lost"), everywhere("WorkspaceLost"), id="lost"),
        pytest.param(workspace("Released"), everywhere("WorkspaceLost"), id="released"),
    ],
)
@pytest.mark.parametrize("unbound", ["ignore", "wait"])
def test_a_workspace_that_restricts(found: Workspace, want: dict[str, str], unbound: str) -> None:
    """Mismatch, then lost, then pinned, whatever the argument says."""
    assert reasons_in(cycle_with(found, unbound)) == want


@pytest.mark.parametrize(
    ("found", "want"),
    [
        pytest.param(None, "WorkspaceNotFound", id="absent"),
        pytest.param(workspace("Pending"), "WorkspacePending", id="pending"),
        pytest.param(workspace(""), "WorkspacePending", id="without a phase"),
        pytest.param(workspace("Bound", pod=""), "WorkspacePending", id="bound to nothing"),
        pytest.param(workspace("Shiny"), "WorkspacePending", id="in a phase that this version does not know"),
    ],
)
@pytest.mark.parametrize("unbound", ["ignore", "wait"])
def test_a_workspace_that_is_not_bound(found: Workspace | None, want: str, unbound: str) -> None:
    """It restricts nothing, unless the operator wants to wait for it."""
    assert reasons_in(cycle_with(found, unbound)) == everywhere(want if unbound == "wait" else "")


def test_without_a_workspace_it_is_silent() -> None:
    """A Run that names none is not asked about."""
    assert "WorkspacePlacement" in {plugin.NAME for plugin in cycle_with(workspace(), name=None).speakers.silent}


@pytest.mark.parametrize(
    ("found", "want"),
    [
        pytest.param(None, "workspace w does not exist", id="absent"),
        pytest.param(workspace(runtime="js"), "workspace w is of runtime js", id="of another runtime"),
        pytest.param(workspace(runtime=""), "workspace w is of runtime (none)", id="of no runtime"),
        pytest.param(workspace("Lost"), "workspace w is Lost", id="lost"),
        pytest.param(workspace("Pending"), "workspace w is not bound yet", id="not bound"),
        pytest.param(workspace(pod="p3"), "workspace w is bound to p3, which is gone", id="gone"),
        pytest.param(workspace(uid="old"), "workspace w is bound to an earlier p1", id="recreated"),
        pytest.param(workspace(), "workspace w is bound to p1", id="pinned"),
    ],
)
def test_details(found: Workspace | None, want: str) -> None:
    """Names the workspace and where it is."""
    cycle = cycle_with(found, "wait")
    code = int(cycle.filter()[1])
    assert cycle.detail(1, code) == want
    assert cycle.nearest(np.arange(2), code) is None
