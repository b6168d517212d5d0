"""The oracle: one decision for one Run, slow and plain, to hold the engine to.

Written from the rules alone. Must not import anything of ours outside this package, nor share a data structure, a trick
or a rounding with what it judges.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from tests.oracle.ask import Ask, read_ask
from tests.oracle.clock import parse_duration, parse_instant, seconds
from tests.oracle.fields import UNSUPPORTED, Json, annotations_of, condition_of, labels_of, meta, part
from tests.oracle.filters import REASONS, Question, first_rejection
from tests.oracle.scores import PodScore, score_pods
from tests.oracle.view import PENDING_PHASES, TERMINAL_PHASES, Key, Reserved, build_view, is_active, phase_of

GROUP_ANNOTATION = "berth.dev/pod-group-name"
DEFAULT_BACKOFF_SECONDS = Fraction(1)
MAX_BACKOFF_SECONDS = Fraction(60)

__all__ = ["Reserved", "Verdict", "judge"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One decision. A Run that can't be read has no rows: `eligibility` tells why, the rest is empty."""

    eligibility: str
    rejections: dict[str, tuple[str, str]]
    scores: dict[str, PodScore]
    chosen: str | None
    considered: int
    feasible: int
    message: str


def judge(
    objects: Sequence[Json],
    as_of: datetime,
    key: Key,
    *,
    reserved: Sequence[Reserved] = (),
    unbound: str = "ignore",
    hypothetical: Json | None = None,
) -> Verdict:
    """Judge the Run of that (namespace, name) at `as_of`, as if it were Pending and nowhere.

    `objects` are Kubernetes JSON of kinds Run, Pod, PersistentWorkspace and Node. `hypothetical` is a Run that is
    judged instead of one of the world; it leaves out nobody, unless it carries the UID of one. KeyError: no such Run.
    """
    run = hypothetical if hypothetical is not None else _find_run(objects, key)
    ask = read_ask(run)
    now = seconds(as_of)
    eligibility = judge_eligibility(run, ask, now)
    if ask.fault or not ask.runtime:
        return Verdict(eligibility, {}, {}, None, 0, 0, "")
    view = build_view(objects, reserved, key[0], meta(run, "uid"))
    question = Question(ask, labels_of(run), view, now, unbound)
    pool = view.pool(ask.runtime)
    verdicts = {pod.name: first_rejection(question, pod) for pod in pool}
    rejections = {name: rejection for name, rejection in verdicts.items() if rejection}
    scores = score_pods(question, [pod for pod in pool if pod.name not in rejections])
    return Verdict(
        eligibility=eligibility,
        rejections=rejections,
        scores=scores,
        chosen=min(scores, key=lambda name: (-scores[name].total, name), default=None),
        considered=len(pool),
        feasible=len(scores),
        message="" if scores else waiting_message(rejections),
    )


def judge_eligibility(run: Json, ask: Ask, now: Fraction) -> str:
    """Give `Eligible`, or the first reason, in this order, why the Run is not to be placed now."""
    phase = phase_of(run)
    if is_active(run):
        return "AlreadyAssigned"
    if phase in TERMINAL_PHASES:
        return "Terminal"
    if meta(run, "deletionTimestamp"):
        return "Terminating"
    if ask.cancelled:
        return "Cancelled"
    if not ask.runtime and not _unreadable_runtime(run):
        return "NoRuntime"
    if phase not in PENDING_PHASES:
        return UNSUPPORTED
    if ask.fault:
        return ask.fault
    if GROUP_ANNOTATION in annotations_of(run):
        return "MemberOfGroup"
    return "RetryDelay" if _retry_delay_lasts(run, now) else "Eligible"


def waiting_message(rejections: dict[str, tuple[str, str]]) -> str:
    """Write the status text: reasons by count, largest first, then in the order of the filter chain."""
    counts = Counter(reason for _, reason in rejections.values())
    ordered = sorted(counts, key=lambda reason: (-counts[reason], REASONS.index(reason)))
    listed = ", ".join(f"{counts[reason]} {reason}" for reason in ordered)
    return f"0/{len(rejections)} runtime pods: {listed or 'NoRuntimePods'}"


def _find_run(objects: Sequence[Json], key: Key) -> Json:
    for thing in objects:
        if thing["kind"] == "Run" and (meta(thing, "namespace"), meta(thing, "name")) == key:
            return thing
    raise KeyError(key)


def _unreadable_runtime(run: Json) -> bool:
    """A runtime of the wrong JSON type is not an empty one."""
    return not isinstance(part(run, "spec").get("runtime") or "", str)


def _retry_delay_lasts(run: Json, now: Fraction) -> bool:
    """From the second attempt on a Run waits after its last end: backoff * 2^(attempt-2), at most 60 s."""
    attempt: int = part(run, "status").get("attempt") or 0
    ended = condition_of(run, "Running")
    if attempt < 2 or ended.get("status") != "False":
        return False
    policy = part(run, "spec").get("retryPolicy") or {}
    backoff = parse_duration(policy.get("backoff"))
    first = DEFAULT_BACKOFF_SECONDS if backoff is None else backoff
    delay: Fraction = min(MAX_BACKOFF_SECONDS, first * 2 ** min(attempt - 2, 100))
    since = parse_instant(ended.get("lastTransitionTime"))
    return (now if since is None else min(since, now)) + delay > now
