"""The two rule sets: what an API server decides, and what Kubernetes' documentation states beyond that.

Each difference is a switch of its own, so that a caller can take or leave it: `dataclasses.replace(DOCUMENTED,
all_needs_gang=False)`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Rules that the documentation states and an API server of v1.37 does not check.

    Attributes:
        frozen_min_group_count: `minGroupCount` of a composite template may not change, at any level.
        all_needs_all_below: below a composite template of mode `all`, every template has mode `all`. On create.
        all_needs_gang: mode `all` needs the policy `gang`, in templates and in groups. On create.
        warn_unknown_class: a template that names an unknown PriorityClass earns a warning.
    """

    frozen_min_group_count: bool = False
    all_needs_all_below: bool = False
    all_needs_gang: bool = False
    warn_unknown_class: bool = False


SERVER = Rules()
DOCUMENTED = Rules(frozen_min_group_count=True, all_needs_all_below=True, all_needs_gang=True, warn_unknown_class=True)


def rules_of(rules: str | Rules) -> Rules:
    """The rule set of a name ("server", "documented"), or the one given.

    Raises:
        ValueError: no rule set has that name.
    """
    if isinstance(rules, Rules):
        return rules
    if rules not in ("server", "documented"):
        raise ValueError(f"no rule set {rules!r}; there are server and documented")
    return SERVER if rules == "server" else DOCUMENTED
