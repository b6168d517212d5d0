"""The verdict on a whole pool, in counts. Its text is what a waiting Run's status carries.

The text holds reason words and counts only, so its length depends on the code and never on users' data, and it tells
nothing about other tenants. Names and numbers stand beside it.
"""

from collections.abc import Sequence

import numpy as np

from berth_server.framework.contracts import Codes
from berth_server.framework.engine import Cycle
from berth_server.placement.answers import Diagnosis, ReasonCount
from berth_server.placement.questions import CandidateRef

NO_RUNTIME_PODS = "NoRuntimePods"
"""The reason of a pool that is empty."""
NOTHING_TO_JUDGE = Diagnosis(0, 0, (), "")


def diagnose(cycle: Cycle, codes: Codes) -> Diagnosis:
    """Count the reasons, and find for each the candidate that comes nearest to fitting."""
    return _of_counts(cycle, np.bincount(codes, minlength=1).tolist(), codes)


def summarize(cycle: Cycle, counts: Sequence[int]) -> Diagnosis:
    """Return the diagnosis of a decision: counts alone. `counts[code]` rows have that code."""
    return _of_counts(cycle, counts, None)


def _of_counts(cycle: Cycle, counts: Sequence[int], codes: Codes | None) -> Diagnosis:
    considered, feasible = len(cycle.view.columns), counts[0]
    if feasible == considered:
        return Diagnosis(considered, feasible, (), "" if feasible else message(0, ()))
    # By count, then in the order of the filter chain, which is the order of the codes.
    ranked = sorted((-count, code) for code, count in enumerate(counts) if code and count)
    reasons = tuple(_reason(cycle, codes, code, -count) for count, code in ranked)
    return Diagnosis(considered, feasible, reasons, "" if feasible else message(considered, reasons))


def message(considered: int, reasons: tuple[ReasonCount, ...]) -> str:
    """Write the text of a Run that waits: `0/12 runtime pods: 7 InsufficientCapacity, 5 StaleHeartbeat`."""
    listed = ", ".join(f"{reason.count} {reason.reason}" for reason in reasons)
    return f"0/{considered} runtime pods: {listed or NO_RUNTIME_PODS}"


def of_fault(reason: str, detail: str) -> Diagnosis:
    """Return the diagnosis of an item that can't be judged on any candidate, and why."""
    return Diagnosis(0, 0, (ReasonCount("", reason, 0, nearest_miss=detail),), reason)


def _reason(cycle: Cycle, codes: Codes | None, code: int, count: int) -> ReasonCount:
    plugin, reason = cycle.profile.reasons[code - 1]
    found = None if codes is None else cycle.nearest(np.flatnonzero(codes == code), code)
    if found is None:
        return ReasonCount(plugin, reason, count)
    row, lack = found
    columns = cycle.view.columns
    return ReasonCount(plugin, reason, count, lack, CandidateRef(columns.names[row], columns.uids[row]))
