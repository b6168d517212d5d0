"""The verdict on a whole pool, in counts. Its text is what a waiting Run's status carries.

The text holds reason words and counts only, so its length depends on the code and never on users' data, and it tells
nothing about other tenants. Names and numbers stand beside it.
"""

import numpy as np

from berth_server.framework.contracts import Codes
from berth_server.framework.engine import Cycle
from berth_server.placement.answers import Diagnosis, ReasonCount
from berth_server.placement.questions import CandidateRef

NOTHING_TO_JUDGE = Diagnosis(0, 0, (), "")


def diagnose(cycle: Cycle, codes: Codes, *, nearest: bool) -> Diagnosis:
    """Count the reasons. `nearest`: also find, for each, the candidate that comes nearest to fitting."""
    considered = len(codes)
    counts = np.bincount(codes, minlength=1).tolist()
    feasible = counts[0]
    # By count, then in the order of the filter chain, which is the order of the codes.
    ranked = sorted((-count, code) for code, count in enumerate(counts) if code and count)
    reasons = tuple(_reason(cycle, codes, code, -count, nearest=nearest) for count, code in ranked)
    return Diagnosis(considered, feasible, reasons, "" if feasible else message(considered, reasons))


def message(considered: int, reasons: tuple[ReasonCount, ...]) -> str:
    """Write the text of a Run that waits: `0/12 runtime pods: 7 InsufficientCapacity, 5 StaleHeartbeat`."""
    listed = ", ".join(f"{reason.count} {reason.reason}" for reason in reasons)
    return f"0/{considered} runtime pods: {listed or 'NoRuntimePods'}"


def of_fault(reason: str, detail: str) -> Diagnosis:
    """Return the diagnosis of an item that can't be judged on any candidate, and why."""
    return Diagnosis(0, 0, (ReasonCount("", reason, 0, nearest_miss=detail),), reason)


def _reason(cycle: Cycle, codes: Codes, code: int, count: int, *, nearest: bool) -> ReasonCount:
    plugin, reason = cycle.profile.reasons[code - 1]
    found = cycle.nearest(np.flatnonzero(codes == code), code) if nearest else None
    if found is None:
        return ReasonCount(plugin, reason, count)
    row, lack = found
    columns = cycle.view.columns
    return ReasonCount(plugin, reason, count, lack, CandidateRef(columns.names[row], columns.uids[row]))
