"""Random trees of items as JSON, for Kubernetes' own builder and for ours: within what both judge alike.

Left out is where they differ on purpose: limits, claims of composites, and what is neither basic nor gang, single nor
all. A tree is either *explicit* (defaults choose a policy and a mode, allow lists may forbid) or *open* (defaults may
be absent, everything is allowed, nobody says `all`).
"""

import copy
import json
import sys
from random import Random
from typing import Any

from berth.workload import (
    CompositePodGroupSchedulingPolicy,
    DisruptionMode,
    OwnerReference,
    PodGroupResourceClaim,
    PodGroupSchedulingPolicy,
    SchedulingConstraints,
    read_part,
)
from berth.workload.builder import (
    Block,
    BuildOptions,
    ModeOption,
    PolicyOption,
    SchedulingConfig,
    WorkloadInput,
    WorkloadItem,
    default_min_count,
)

JSON = dict[str, Any]
OWNER = OwnerReference(api_version="batch/v1", kind="Job", name="training", uid="uid")
MAX_LEVEL = 3


class Trees:
    """A source of trees."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._explicit = True
        self._names = 0

    def tree(self) -> JSON:
        """One tree, half the time as an update of another."""
        self._explicit, self._names = self._chance(0.5), 0
        root = self._item(level=1)
        lists = [["basic", "gang"], ["basic"], ["gang"], []], [["single", "all"], ["single"], ["all"], []]
        policies, modes = (self._random.choice(some) if self._explicit else some[0] for some in lists)
        return {
            "root": root,
            "old": self._former(root) if self._chance(0.5) else None,
            "policies": policies,
            "modes": modes,
            "declarative": self._chance(0.8),
        }

    def _item(self, level: int) -> JSON:
        self._names += 1
        composite = level < MAX_LEVEL and self._chance(0.6 / level)
        mixed_up = self._chance(0.03)
        blocks = self._blocks(composite=composite != mixed_up)
        if mixed_up:
            blocks.setdefault("policy", {"basic": {}})
        return {
            "name": self._random.choice(["", "i1"]) if self._chance(0.02) else f"i{self._names}",
            "path": self._random.choice(["spec.x", "", "spec.r[0]"]),
            "default": self._default(composite=composite),
            "composite" if composite != mixed_up else "leaf": blocks,
            "count": self._random.choice([None, 5]),
            "children": [self._item(level + 1) for _ in range(self._random.choice([1, 2]))] if composite else [],
        }

    def _former(self, item: JSON) -> JSON:
        """The item before an update: other blocks here and there, another order, seldom another name."""
        former = copy.deepcopy(item)
        composite = "composite" in former
        blocks, others = former["composite" if composite else "leaf"], self._blocks(composite=composite)
        for name in ("policy", "constraints", "disruptionMode", "resourceClaims"):
            if self._chance(0.3):
                blocks.pop(name, None)
                blocks.update({name: others[name]} if name in others else {})
        former["children"] = [self._former(child) for child in former["children"]]
        self._random.shuffle(former["children"])
        if self._chance(0.04):
            former["name"] = "other"
        return former

    def _default(self, *, composite: bool) -> JSON | None:
        if not self._explicit and self._chance(0.5):
            return None
        default: JSON = {}
        policies: list[JSON] = [{"basic": {}}, {"gang": {"minCount": 3}}, {"gang": {}}]
        if self._explicit:
            default["policy"] = self._random.choice([*policies, {"basic": {}, "gang": {"minCount": 2}}])
            default["disruptionMode"] = self._random.choice([{"single": {}}, {"all": {}}, {"single": {}, "all": {}}])
        elif self._chance(0.5):
            default["policy"] = self._random.choice([*policies, {}])
        if self._chance(0.4):
            default["constraints"] = {"topology": [{"key": "d"}] if self._chance(0.8) else []}
        if not composite and self._chance(0.3):
            default["resourceClaims"] = [{"name": "dc", "resourceClaimName": "z"}]
        return default | ({"priorityClassName": "high"} if self._chance(0.3) else {})

    def _blocks(self, *, composite: bool) -> JSON:
        blocks: JSON = {
            "policy": self._policy("minGroupCount" if composite else "minCount"),
            "constraints": {"topology": [{"key": self._key()} for _ in range(self._random.choice([0, 1, 1, 1, 2]))]},
            "disruptionMode": self._mode(),
        }
        if not composite:
            blocks["resourceClaims"] = self._claims()
        return {name: block for name, block in blocks.items() if self._chance(0.6)}

    def _policy(self, field: str) -> JSON:
        count = self._random.choice([None, None, 1, 2, 8, 0, -1])
        gang = {} if count is None else {field: count}
        return self._random.choice([{"basic": {}}, {"gang": gang}, {"gang": gang}, {"basic": {}, "gang": gang}, {}])

    def _key(self) -> str:
        return self._random.choice(["rack", "zone", "", "a/b/c", "x/"])

    def _mode(self) -> JSON:
        modes: list[JSON] = [{"single": {}}, {}]
        return self._random.choice([*modes, {"all": {}}, {"single": {}, "all": {}}] if self._explicit else modes)

    def _claims(self) -> list[JSON]:
        claims = []
        for name in self._random.sample(["a", "b", "c", "B-", ""], self._random.choice([0, 1, 2, 3])):
            claim = {"name": name}
            for source in ("resourceClaimName", "resourceClaimTemplateName"):
                if self._chance(0.5):
                    claim[source] = self._random.choice(["x", "Bad_", ""])
            claims.append(claim)
        return claims

    def _chance(self, chance: float) -> bool:
        return self._random.random() < chance


def item_of(given: JSON) -> WorkloadItem:
    """The item that the JSON says."""
    blocks = given.get("leaf", given.get("composite"))
    policy = PodGroupSchedulingPolicy if "leaf" in given else CompositePodGroupSchedulingPolicy
    said = WorkloadInput(
        policy=Block(_read(policy, blocks, "policy"), "schedulingPolicy"),
        constraints=Block(_read(SchedulingConstraints, blocks, "constraints"), "schedulingConstraints"),
        disruption_mode=Block(_read(DisruptionMode, blocks, "disruptionMode"), "disruptionMode"),
        resource_claims=Block(_read_claims(blocks), "resourceClaims"),
    )
    return WorkloadItem(
        name=given["name"],
        path=given["path"],
        default_config=None if given["default"] is None else _config(given["default"]),
        input=said,
        callbacks=[None, default_min_count(given["count"])] if given["count"] is not None else [],
        children=[item_of(child) for child in given["children"]],
    )


def options_of(tree: JSON) -> BuildOptions:
    """The options that the JSON says; nothing is frozen, as in Kubernetes' builder."""
    return BuildOptions(
        name="training",
        namespace="ml",
        owner=OWNER,
        allowed_policies=[PolicyOption(name) for name in tree["policies"]],
        allowed_disruption_modes=[ModeOption(name) for name in tree["modes"]],
        declarative_validation=tree["declarative"],
        frozen=(),
    )


def _config(given: JSON) -> SchedulingConfig:
    return SchedulingConfig(
        policy=_read(PodGroupSchedulingPolicy, given, "policy"),
        constraints=_read(SchedulingConstraints, given, "constraints"),
        disruption_mode=_read(DisruptionMode, given, "disruptionMode"),
        resource_claims=_read_claims(given) or (),
        priority_class_name=given.get("priorityClassName", ""),
    )


def _read(model: Any, blocks: Any, name: str) -> Any:
    return read_part(model, blocks[name]) if name in blocks else None


def _read_claims(blocks: Any) -> tuple[PodGroupResourceClaim, ...] | None:
    claims = blocks.get("resourceClaims")
    return None if claims is None else tuple(read_part(PodGroupResourceClaim, claim) for claim in claims)


def main() -> None:
    """Print trees, one a line: how many, and from which seed."""
    count, seed = (int(text) for text in [*sys.argv[1:3], "120", "1"][:2])
    trees = Trees(seed)
    for _ in range(count):
        sys.stdout.write(json.dumps(trees.tree(), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
