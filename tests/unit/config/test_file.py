"""The configuration file: what it means, and every fault with its path."""

import pytest

from berth_server.config.faults import ConfigError
from berth_server.config.file import Config, PluginConfig, ProfileConfig, parse_config

KNOWN_KEYS = (
    "profiles, cluster, listen, metricsListen, driver, role, asOf, play, logFormat, reflection, kubeconfig, context, "
    "events, traces"
)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("", Config(), id="empty"),
        pytest.param("# nothing\n", Config(), id="a-comment"),
        pytest.param("profiles:", Config(), id="null"),
        pytest.param("profiles: []", Config(), id="no-profiles"),
        pytest.param("profiles: [{name: default}]", Config(), id="default-by-name"),
        pytest.param(
            "profiles: [{name: packed}]",
            Config((ProfileConfig("default"), ProfileConfig("packed"))),
            id="default-is-always-there",
        ),
        pytest.param(
            "profiles:\n"
            "- name: default\n"
            "  plugins:\n"
            "    LeastLoaded: {weight: 1000000}\n"
            "    RunAffinity: {enabled: false}\n"
            "    WorkspacePlacement:\n"
            "      arguments: {unbound: wait}\n"
            "    ExistingRunAntiAffinity:\n",
            Config(
                (
                    ProfileConfig(
                        "default",
                        (
                            PluginConfig("LeastLoaded", weight=1_000_000, path="profiles[0].plugins.LeastLoaded"),
                            PluginConfig("RunAffinity", enabled=False, path="profiles[0].plugins.RunAffinity"),
                            PluginConfig(
                                "WorkspacePlacement",
                                arguments={"unbound": "wait"},
                                path="profiles[0].plugins.WorkspacePlacement",
                            ),
                            PluginConfig("ExistingRunAntiAffinity", path="profiles[0].plugins.ExistingRunAntiAffinity"),
                        ),
                    ),
                )
            ),
            id="plugins",
        ),
        pytest.param(
            "driver: off\nasOf: 2026-03-01T12:00:00Z\nlisten: [a, b]\nreflection: false",
            Config(
                settings={
                    "driver": "off",
                    "asOf": "2026-03-01T12:00:00Z",
                    "listen": ["a", "b"],
                    "reflection": False,
                }
            ),
            id="settings-stay-as-written",
        ),
    ],
)
def test_reads_a_file(text: str, want: Config) -> None:
    """What is not said is as it comes; `off` is a word and a time is text."""
    assert parse_config(text) == want


def _plugin(text: str) -> str:
    return f"profiles: [{{name: default, plugins: {{LeastLoaded: {text}}}}}]"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            _plugin("{weight: 0}"), "profiles[0].plugins.LeastLoaded.weight: must be 1 to 1000000", id="weight-zero"
        ),
        pytest.param(
            _plugin("{weight: 1000001}"),
            "profiles[0].plugins.LeastLoaded.weight: must be 1 to 1000000",
            id="weight-large",
        ),
        *(
            pytest.param(
                _plugin(f"{{weight: {weight}}}"),
                "profiles[0].plugins.LeastLoaded.weight: must be an integer, 1 to 1000000",
                id=f"weight-{name}",
            )
            for name, weight in {"boolean": "true", "float": "2.0", "text": '"2"', "list": "[1]"}.items()
        ),
        pytest.param(
            _plugin("{enabled: yes}"),
            "profiles[0].plugins.LeastLoaded.enabled: must be true or false",
            id="enabled-word",
        ),
        pytest.param(
            _plugin("{enable: true}"),
            "profiles[0].plugins.LeastLoaded.enable: is not known; known are enabled, weight, arguments",
            id="unknown-key-of-a-plugin",
        ),
        pytest.param(
            _plugin("5"), "profiles[0].plugins.LeastLoaded: must be an object with names as keys", id="plugin-number"
        ),
        pytest.param(
            _plugin("{arguments: [a]}"),
            "profiles[0].plugins.LeastLoaded.arguments: must be an object with names as keys",
            id="arguments-list",
        ),
        pytest.param(
            "profiles: [{name: default, plugins: [LeastLoaded]}]",
            "profiles[0].plugins: must be an object with names as keys",
            id="plugins-list",
        ),
        pytest.param(
            "profiles: [{name: default, plugins: {LeastLoaded: {}, LeastLoaded: {}}}]",
            "profiles[0].plugins.LeastLoaded: is given twice, again in line 1",
            id="plugin-twice",
        ),
        pytest.param(
            "profiles: [{name: a}, {name: b}, {name: a}]",
            "profiles[2].name: 'a' is the name of profiles[0] already",
            id="profile-twice",
        ),
        pytest.param(
            "profiles: [{}]", "profiles[0].name: must be a string of 1 to 253 characters", id="profile-without-name"
        ),
        pytest.param(
            "profiles: [{name: 7}]", "profiles[0].name: must be a string of 1 to 253 characters", id="profile-number"
        ),
        pytest.param(
            "profiles: [{name: a, weights: {}}]",
            "profiles[0].weights: is not known; known are name, plugins",
            id="unknown-key-of-a-profile",
        ),
        pytest.param("profiles: {}", "profiles: must be a list", id="profiles-object"),
        pytest.param("profile: []", f"profile: is not known; known are {KNOWN_KEYS}", id="unknown-key"),
        pytest.param("[]", "the file: must be an object with names as keys", id="a-list"),
        pytest.param("1: 2", "the file: must be an object with names as keys", id="a-number-as-key"),
        pytest.param("driver: off\n\ndriver: off", "driver: is given twice, again in line 3", id="key-twice"),
        pytest.param("a: [", "line 1: expected the node content, but found '<stream end>'", id="no-yaml"),
        pytest.param("a: 1\n---\nb: 1", "line 2: but found another document", id="two-documents"),
        pytest.param(
            "a: !!python/name:os.system",
            "line 1: could not determine a constructor for the tag 'tag:yaml.org,2002:python/name:os.system'",
            id="python-object",
        ),
    ],
)
def test_names_the_path_of_a_fault(text: str, want: str) -> None:
    """One fault is one sentence that starts with where it is."""
    with pytest.raises(ConfigError) as caught:
        parse_config(text)
    assert caught.value.faults == (want,)


def test_tells_all_faults_at_once() -> None:
    """Faults do not hide each other; each has its line."""
    with pytest.raises(ConfigError) as caught:
        parse_config("profiles: [{name: '', plugins: {A: {weight: 0}, B: {enabled: 1}}}]\nextra: 1")
    assert str(caught.value).splitlines() == [
        f"extra: is not known; known are {KNOWN_KEYS}",
        "profiles[0].name: must be a string of 1 to 253 characters",
        "profiles[0].plugins.A.weight: must be 1 to 1000000",
        "profiles[0].plugins.B.enabled: must be true or false",
    ]


def test_an_anchor_that_contains_itself_ends() -> None:
    """The search for duplicates walks each node once."""
    with pytest.raises(ConfigError):
        parse_config("a: &a [*a]")
