"""The plugins, one a module, and the one list of them. Its order is the order in which filters are asked."""

from berth_server.framework.profile import Factory
from berth_server.plugins.existing_run_anti_affinity import ExistingRunAntiAffinity
from berth_server.plugins.least_loaded import LeastLoaded
from berth_server.plugins.preferred_run_affinity import PreferredRunAffinity
from berth_server.plugins.run_affinity import RunAffinity
from berth_server.plugins.runtime_pod_availability import RuntimePodAvailability
from berth_server.plugins.workspace_placement import WorkspacePlacement

REGISTRY: tuple[Factory, ...] = (
    RuntimePodAvailability,
    WorkspacePlacement,
    RunAffinity,
    ExistingRunAntiAffinity,
    PreferredRunAffinity,
    LeastLoaded,
)
