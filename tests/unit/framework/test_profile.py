"""Profiles: the operator's choice against the registry, and every fault with its path."""

from typing import Any

import pytest

from berth_server.config.file import PluginConfig
from berth_server.framework.profile import ProfileError, build
from berth_server.plugins import REGISTRY
from berth_server.plugins.least_loaded import LeastLoaded

PATH = "profiles[0].plugins.X"


def choice(name: str, **fields: Any) -> PluginConfig:
    """Build what a file says about one plugin."""
    return PluginConfig(name, path=PATH, **fields)


def test_every_plugin_as_it_comes() -> None:
    """Without a choice all plugins are on, in the order of the registry, with their own weights and arguments."""
    profile = build("default", (), REGISTRY)
    assert [plugin.NAME for plugin in profile.filters] == [
        "RuntimePodAvailability",
        "WorkspacePlacement",
        "RunAffinity",
        "ExistingRunAntiAffinity",
    ]
    assert [(plugin.NAME, weight) for plugin, weight in profile.scores] == [
        ("PreferredRunAffinity", 1),
        ("LeastLoaded", 1),
    ]
    assert [leader.NAME if leader else None for leader in profile.leaders] == [None, "LeastLoaded"]
    assert profile.arguments["WorkspacePlacement"] == {"unbound": "ignore"}


def test_reasons_stand_in_filter_chain_order() -> None:
    """Their order is the order of the codes, and of the words in a diagnosis; each has its cures."""
    profile = build("default", (), REGISTRY)
    assert [reason for _, reason in profile.reasons] == [
        "RuntimePodTerminating",
        "RuntimePodNotReady",
        "StaleHeartbeat",
        "SkewedClock",
        "InvalidCapacity",
        "ResourceNotAdvertised",
        "InsufficientCapacity",
        "WorkspaceMismatch",
        "WorkspaceLost",
        "WorkspacePinned",
        "WorkspaceNotFound",
        "WorkspacePending",
        "UnsatisfiedRunAffinity",
        "UnsatisfiedRunAntiAffinity",
        "ExistingRunAntiAffinity",
    ]
    assert set(profile.cures) == {reason for _, reason in profile.reasons}
    assert all(profile.cures.values()), "every reason can be cured by something"


def test_a_choice_switches_off_weighs_and_sets() -> None:
    """What is not mentioned stays; the order of the choices does not matter."""
    profile = build(
        "mine",
        [
            choice("LeastLoaded", weight=7),
            choice("WorkspacePlacement", arguments={"unbound": "wait"}),
            choice("ExistingRunAntiAffinity", enabled=False),
            choice("PreferredRunAffinity", enabled=False),
        ],
        REGISTRY,
    )
    assert [plugin.NAME for plugin in profile.filters] == [
        "RuntimePodAvailability",
        "WorkspacePlacement",
        "RunAffinity",
    ]
    assert [(plugin.NAME, weight) for plugin, weight in profile.scores] == [("LeastLoaded", 7)]
    assert len(profile.leaders) == 1
    assert profile.arguments["WorkspacePlacement"] == {"unbound": "wait"}
    assert "ExistingRunAntiAffinity" not in profile.arguments


@pytest.mark.parametrize(
    ("wrong", "want"),
    [
        pytest.param(
            choice("LeastLoded"),
            f"{PATH}: unknown plugin 'LeastLoded'; known are RuntimePodAvailability, WorkspacePlacement, RunAffinity, "
            "ExistingRunAntiAffinity, PreferredRunAffinity, LeastLoaded",
            id="unknown plugin",
        ),
        pytest.param(
            choice("WorkspacePlacement", arguments={"unbond": "wait"}),
            f"{PATH}.arguments.unbond: unknown argument of WorkspacePlacement; known are: unbound",
            id="unknown argument",
        ),
        pytest.param(
            choice("LeastLoaded", arguments={"mode": 1}),
            f"{PATH}.arguments.mode: unknown argument of LeastLoaded; known are: none",
            id="an argument for a plugin without any",
        ),
        pytest.param(
            choice("WorkspacePlacement", arguments={"unbound": "sometimes"}),
            f"{PATH}.arguments.unbound: must be one of ignore, wait, not 'sometimes'",
            id="a word that is not accepted",
        ),
        pytest.param(
            choice("WorkspacePlacement", arguments={"unbound": None}),
            f"{PATH}.arguments.unbound: must be one of ignore, wait, not None",
            id="null",
        ),
        pytest.param(
            choice("WorkspacePlacement", arguments={"unbound": ["wait"]}),
            f"{PATH}.arguments.unbound: must be one of ignore, wait, not ['wait']",
            id="a list",
        ),
        pytest.param(
            choice("WorkspacePlacement", enabled=False, arguments={"unbound": "sometimes"}),
            f"{PATH}.arguments.unbound: must be one of ignore, wait, not 'sometimes'",
            id="also where it is switched off",
        ),
        pytest.param(
            choice("RunAffinity", weight=2),
            f"{PATH}.weight: plugin 'RunAffinity' does not score, so it has no weight",
            id="a weight for a filter",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_path(wrong: PluginConfig, want: str) -> None:
    """A wrong choice is an error at start, in one sentence with the place and what would be right."""
    with pytest.raises(ProfileError) as caught:
        build("default", [wrong], REGISTRY)
    assert str(caught.value) == want


def test_a_plugin_is_registered_once() -> None:
    """Twice would count twice: its scores could not be told from another weight."""
    with pytest.raises(ProfileError, match="twice"):
        build("default", (), [LeastLoaded, LeastLoaded])
