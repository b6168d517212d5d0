"""The Workload API of Kubernetes (scheduling.k8s.io) for controller authors: models, reading and writing.

from berth.workload import PodGroup, PodGroupSpec, ObjectMeta, gang, topology, write

group = PodGroup(
    metadata=ObjectMeta(name="training", namespace="ml"),
    spec=PodGroupSpec(scheduling_policy=gang(8), scheduling_constraints=topology("topology.kubernetes.io/zone")),
)
manifest = write(group)  # a dict, ready for any Kubernetes client
"""

from berth.workload.codec import DecodeError
from berth.workload.models import *  # noqa: F403 - the models' own __all__
from berth.workload.models import __all__ as _models
from berth.workload.v1alpha2 import NotExpressibleError
from berth.workload.versions import UnknownFieldsError, normalise, read_part, write, write_part

__all__ = [
    *_models,
    "DecodeError",
    "NotExpressibleError",
    "UnknownFieldsError",
    "normalise",
    "read_part",
    "write",
    "write_part",
]  # noqa: E501, PLE0604
