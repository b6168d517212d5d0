"""The filter chain of one Run, asked one Pod at a time; the first rejection is the reason.

Every function of the chain gives a reason or None. Must not score, choose or remember.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from tests.oracle.ask import Ask
from tests.oracle.clock import parse_instant
from tests.oracle.fields import Json, condition_of, meta, part
from tests.oracle.selectors import Selector
from tests.oracle.view import RuntimePod, View

FRESH_SECONDS = 15
SKEW_SECONDS = 30

REASONS = (
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
)


@dataclass(frozen=True, slots=True)
class Question:
    """One Run against one view. `now` is seconds from the epoch, `unbound` is `ignore` or `wait`."""

    ask: Ask
    labels: dict[str, str]
    view: View
    now: Fraction
    unbound: str


def first_rejection(question: Question, pod: RuntimePod) -> tuple[str, str] | None:
    """Give (plugin, reason) of the first filter that rejects a Pod, None when it is feasible."""
    for plugin, check in CHAIN:
        reason = check(question, pod)
        if reason is not None:
            return plugin, reason
    return None


def pod_state(question: Question, pod: RuntimePod) -> str | None:
    """Reject a Pod that goes away or does not serve."""
    if meta(pod.json, "deletionTimestamp"):
        return "RuntimePodTerminating"
    running = part(pod.json, "status").get("phase") == "Running"
    ready = condition_of(pod.json, "Ready").get("status") == "True"
    runtimed_ready = condition_of(pod.json, "kruntimes.io/RuntimedReady").get("status") == "True"
    return None if running and ready and runtimed_ready else "RuntimePodNotReady"


def heartbeat(question: Question, pod: RuntimePod) -> str | None:
    """Judge the stamp as at first sight: 0 to 15 s old or up to 30 s ahead is fresh, both ends included."""
    stamp = parse_instant(condition_of(pod.json, "kruntimes.io/RuntimedReady").get("lastProbeTime"))
    if stamp is None or question.now - stamp > FRESH_SECONDS:
        return "StaleHeartbeat"
    return "SkewedClock" if stamp - question.now > SKEW_SECONDS else None


def room(question: Question, pod: RuntimePod) -> str | None:
    """Look at the requested resources only; `runs` is always one of them."""
    if pod.capacity is None:
        return "InvalidCapacity"
    if any(resource not in pod.capacity for resource in question.ask.requests):
        return "ResourceNotAdvertised"
    for resource, amount in question.ask.requests.items():
        if amount > pod.capacity[resource] - question.view.used(pod, resource):
            return "InsufficientCapacity"
    return None


def workspace_placement(question: Question, pod: RuntimePod) -> str | None:
    """Keep a Run with its workspace; one that is absent or not bound yet restricts only if told to wait."""
    if question.ask.workspace is None:
        return None
    workspace = question.view.workspaces.get(question.ask.workspace)
    if workspace is None:
        return "WorkspaceNotFound" if question.unbound == "wait" else None
    phase = part(workspace, "status").get("phase")
    bound_pod = part(workspace, "status").get("boundPod")
    if part(workspace, "spec").get("runtime") != question.ask.runtime:
        return "WorkspaceMismatch"
    if phase in {"Lost", "Released"}:
        return "WorkspaceLost"
    if phase != "Bound" or not bound_pod:
        return "WorkspacePending" if question.unbound == "wait" else None
    if not _still_there(question.view, workspace):
        return "WorkspaceLost"
    return None if pod.name == bound_pod else "WorkspacePinned"


def _still_there(view: View, workspace: Json) -> bool:
    """Tell whether the Pod of a bound workspace exists, in whatever pool, and is the very one if a UID is known."""
    status = part(workspace, "status")
    uid = status.get("boundPodUID")
    return any(pod.name == status["boundPod"] and (not uid or pod.uid == uid) for pod in view.runtime_pods)


def run_affinity(question: Question, pod: RuntimePod) -> str | None:
    """Require each affinity term on this Pod, or seed it; forbid each anti-affinity term."""
    for term in question.ask.affinity:
        if not stands_on(question.view, pod, term) and not _may_seed(question, term):
            return "UnsatisfiedRunAffinity"
    for term in question.ask.anti_affinity:
        if stands_on(question.view, pod, term):
            return "UnsatisfiedRunAntiAffinity"
    return None


def _may_seed(question: Question, term: Selector) -> bool:
    """A term that no target matches, on Pods of any runtime, may be seeded by a Run that matches it itself."""
    matched = any(term.matches(target.labels) for target in question.view.targets)
    return not matched and term.matches(question.labels)


def existing_run_anti_affinity(question: Question, pod: RuntimePod) -> str | None:
    """Respect the required anti-affinity of the Runs that are on this Pod."""
    for target in question.view.targets_on(pod):
        if any(term.matches(question.labels) for term in target.repels):
            return "ExistingRunAntiAffinity"
    return None


def stands_on(view: View, pod: RuntimePod, term: Selector) -> bool:
    """Tell whether a target that a term selects is on a Pod."""
    return any(term.matches(target.labels) for target in view.targets_on(pod))


CHAIN: tuple[tuple[str, Callable[[Question, RuntimePod], str | None]], ...] = (
    ("RuntimePodAvailability", pod_state),
    ("RuntimePodAvailability", heartbeat),
    ("RuntimePodAvailability", room),
    ("WorkspacePlacement", workspace_placement),
    ("RunAffinity", run_affinity),
    ("ExistingRunAntiAffinity", existing_run_anti_affinity),
)
