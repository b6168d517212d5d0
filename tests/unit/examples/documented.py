"""The documentation's tree of a Workload, and the groups that a controller makes of it."""

import yaml

from berth.workload import CompositePodGroup, PodGroup, Workload, normalise
from tests.vectors.workload_api import FOLDER

_FILE = FOLDER.parent / "workload-examples" / "composite.yaml"
_OBJECTS = [normalise(body) for body in yaml.safe_load_all(_FILE.read_text(encoding="utf-8"))]

(WORKLOAD,) = [item for item in _OBJECTS if isinstance(item, Workload)]
WANTED_GROUPS = [item for item in _OBJECTS if isinstance(item, PodGroup | CompositePodGroup)]
