"""Reads: filter, score, and the look that every decision starts with. Changes nothing but the passing of time.

The decisions of the driver and the questions of every outside caller go through `Reader.look`, so they can never
disagree. Between `look` and the use of what it gave there must be no await.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from berth_server.framework.contracts import Codes
from berth_server.framework.engine import Cycle, Engine, Ranked
from berth_server.objects.clock import Clock
from berth_server.objects.decode import DecodeError, decode
from berth_server.objects.item import Item
from berth_server.objects.resources import Run
from berth_server.placement import answers, paging
from berth_server.placement.diagnosis import diagnose, of_fault
from berth_server.placement.failures import FieldViolation, PlacementError, Reason
from berth_server.placement.ingest import KINDS, Ingest
from berth_server.placement.questions import (
    CandidateRef,
    Consistency,
    ExistingRun,
    FilterQuestion,
    HypotheticalRun,
    ItemRef,
    ReadOptions,
    ScoreQuestion,
)
from berth_server.placement.translate import instant, item_of

DEFAULT_WAIT_SECONDS: Final = 30.0
ANSWER_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Identity:
    """Who answers: the process, and whether it is the leader."""

    instance: str
    leader: bool = True


class Reader:
    """Answers questions on the state as of now."""

    def __init__(self, ingest: Ingest, engines: Mapping[str, Engine], clock: Clock, identity: Identity) -> None:
        """`engines` by profile name; the first one is the default."""
        self.identity = identity
        self.engines = engines
        self._ingest = ingest
        self._state = ingest.state
        self._clock = clock

    # --- finding what is asked about ------------------------------------------------------------------------------

    async def locate(self, ref: ItemRef, read: ReadOptions) -> Item:
        """Return the item as the view has it, waiting for the version that the caller has seen.

        Raises PlacementError: NOT_SYNCED, VIEW_TOO_OLD, VIEW_BEHIND, UNKNOWN_ITEM, STALE_ITEM, INVALID_FIELD.
        """
        self.engine(read.profile)
        self._check_view(read)
        if isinstance(ref, HypotheticalRun):
            return self._hypothetical(ref)
        if ref.min_version:
            now = self._clock.monotonic()
            left = DEFAULT_WAIT_SECONDS if read.deadline is None else read.deadline - now
            # Not to the last moment: the answer that says why must reach the caller before it gives up.
            if not await self._ingest.wait_for(Run.kind, ref.min_version, now + left - min(ANSWER_SECONDS, left / 4)):
                raise PlacementError(
                    Reason.VIEW_BEHIND,
                    f"the view of Runs has not reached version {ref.min_version} within the deadline: try again.",
                    metadata={"version": str(ref.min_version), "have": str(self._ingest.views[Run.kind].version)},
                )
        return self.find(ref)

    def find(self, ref: ExistingRun) -> Item:
        """Return the item as the view has it now. Raises PlacementError: UNKNOWN_ITEM, STALE_ITEM."""
        uid = self._state.item_uids.get((ref.namespace, ref.name))
        metadata = {"kind": Run.kind, "namespace": ref.namespace, "name": ref.name}
        if uid is None:
            raise PlacementError(
                Reason.UNKNOWN_ITEM, f"there is no Run {ref.name} in namespace {ref.namespace}.", metadata=metadata
            )
        if ref.uid and ref.uid != uid:
            raise PlacementError(
                Reason.STALE_ITEM,
                f"Run {ref.namespace}/{ref.name} was recreated: it has uid {uid} now, not {ref.uid}. Look it up again.",
                metadata={**metadata, "uid": uid, "asked_uid": ref.uid},
                retry_after=0.0,
            )
        return self._state.items[uid]

    def lead(self) -> None:
        """Raise PlacementError NOT_LEADER unless this replica decides."""
        if not self.identity.leader:
            raise PlacementError(
                Reason.NOT_LEADER,
                "this replica reads and decides nothing: call the leader, or ask Filter or Score with"
                " read.consistency CONSISTENCY_ANY.",
            )

    def engine(self, profile: str) -> Engine:
        """Return the engine of that profile, "" for the default. Raises PlacementError INVALID_FIELD."""
        engine = self.engines.get(profile or next(iter(self.engines)))
        if engine is None:
            description = f"no profile {profile!r}; this server has {', '.join(self.engines)}"
            raise PlacementError(
                Reason.INVALID_FIELD,
                f"read.profile: {description}.",
                violations=[FieldViolation("read.profile", description)],
            )
        return engine

    def look(self, item: Item, profile: str = "") -> Cycle:
        """Return a cycle of `item` on the state as of now. It holds until the next await."""
        self.let_time_pass()
        return self.engine(profile).cycle(item, self._state.view(item))

    def let_time_pass(self) -> None:
        """Let heartbeats expire, and tell those who wait for it."""
        self._state.advance(monotonic=self._clock.monotonic(), wall=self._clock.wall())
        self._ingest.tell()

    # --- questions ------------------------------------------------------------------------------------------------

    async def filter(self, question: FilterQuestion) -> answers.FilterAnswer:
        """See ports.Service."""
        item = await self.locate(question.item, question.read)
        cycle = self.look(item, question.read.profile)
        fault = unjudgeable(item)
        if fault is not None:
            return answers.FilterAnswer(self.snapshot(cycle), pool_of(item), fault, ())
        codes, columns = cycle.filter(), cycle.view.columns
        rows, token = paging.page(columns.names, question.page_size, question.page_token, str(columns.epoch))
        return answers.FilterAnswer(
            self.snapshot(cycle),
            pool_of(item),
            diagnose(cycle, codes),
            [_filter_row(cycle, codes, row, all_plugins=question.all_plugins) for row in rows],
            token,
        )

    async def score(self, question: ScoreQuestion) -> answers.ScoreAnswer:
        """See ports.Service."""
        item = await self.locate(question.item, question.read)
        cycle = self.look(item, question.read.profile)
        fault = unjudgeable(item)
        if fault is not None:
            return answers.ScoreAnswer(
                self.snapshot(cycle), pool_of(item), fault, None, (), tuple(dict.fromkeys(question.candidates))
            )
        codes, columns = cycle.filter(), cycle.view.columns
        ranked = cycle.score(np.flatnonzero(codes == 0))
        best = ranked.best()
        unknown: list[str] = []
        if question.candidates:
            names = dict.fromkeys(question.candidates)
            unknown = [name for name in names if name not in columns.row_of_name]
            rows = _named_rows(cycle, codes, ranked, [name for name in names if name in columns.row_of_name])
        else:
            rows = best_rows(cycle, ranked, question.limit)
        return answers.ScoreAnswer(
            self.snapshot(cycle),
            pool_of(item),
            diagnose(cycle, codes),
            None if best < 0 else candidate_at(cycle, best),
            rows,
            unknown,
        )

    def snapshot(self, cycle: Cycle) -> answers.SnapshotInfo:
        """Say what a cycle was computed on."""
        return answers.SnapshotInfo(
            instance=self.identity.instance,
            generation=cycle.view.generation,
            pool_epoch=str(cycle.view.columns.epoch),
            evaluated_at=instant(self._clock.wall()),
            view_age=self.view_age(),
            leader=self.identity.leader,
            reservations_included=self.identity.leader,
        )

    def view_age(self) -> float:
        """Return how many seconds ago the oldest of the views was last known to be complete."""
        return max(self._ingest.age(kind) for kind in KINDS)

    # --- inner ----------------------------------------------------------------------------------------------------

    def _check_view(self, read: ReadOptions) -> None:
        if read.consistency is Consistency.LEADER:
            self.lead()
        if not self._ingest.synced:
            raise PlacementError(Reason.NOT_SYNCED, "the server has not read the whole cluster yet: try again shortly.")
        age = self.view_age()
        if read.max_view_age is not None and age > read.max_view_age:
            raise PlacementError(
                Reason.VIEW_TOO_OLD,
                f"the view is {age:.1f} s old and read.max_view_age is {read.max_view_age:.1f} s: try again later.",
                metadata={"age_seconds": f"{age:.3f}"},
            )

    def _hypothetical(self, ref: HypotheticalRun) -> Item:
        try:
            run = decode(Run.kind, ref.manifest)
        except DecodeError as error:
            raise PlacementError(
                Reason.INVALID_FIELD,
                f"item.manifest: {error}.",
                violations=[FieldViolation("item.manifest", str(error))],
            ) from None
        assert isinstance(run, Run)
        return item_of(run, version=0, monotonic=self._clock.monotonic())


def unjudgeable(item: Item) -> answers.Diagnosis | None:
    """Return the diagnosis of an item whose spec can't be judged on any candidate; None: it can."""
    fault = item.spec.fault
    if fault is not None:
        return of_fault(fault.reason, fault.message)
    if not item.spec.runtime:
        return of_fault(answers.IneligibleReason.NO_RUNTIME.value, "spec.runtime is empty")
    return None


def pool_of(item: Item) -> answers.PoolRef:
    """Return the pool that the item is compared on."""
    return answers.PoolRef(item.namespace, item.spec.runtime)


def candidate_at(cycle: Cycle, row: int) -> CandidateRef:
    """Return the candidate of a row."""
    return CandidateRef(cycle.view.columns.names[row], cycle.view.columns.uids[row])


def rejection_at(cycle: Cycle, row: int, code: int) -> answers.Rejection:
    """Return, for people, why `row` has that code."""
    plugin, reason = cycle.profile.reasons[code - 1]
    return answers.Rejection(plugin, reason, cycle.detail(row, code))


def best_rows(cycle: Cycle, ranked: Ranked, limit: int) -> list[answers.ScoredCandidate]:
    """Return the best `limit` rows with all their scores."""
    return [_scored(cycle, ranked, int(position)) for position in ranked.order()[:limit]]


def _filter_row(cycle: Cycle, codes: Codes, row: int, *, all_plugins: bool) -> answers.FilterRow:
    code = int(codes[row])
    found = cycle.filter_all(row) if all_plugins and code else [code] if code else []
    return answers.FilterRow(candidate_at(cycle, row), [rejection_at(cycle, row, code) for code in found])


def _named_rows(cycle: Cycle, codes: Codes, ranked: Ranked, names: list[str]) -> list[answers.ScoredCandidate]:
    """Return the named rows: feasible ones best first, then the others in name order with their rejections."""
    wanted = {cycle.view.columns.row_of_name[name] for name in names}
    feasible = [
        _scored(cycle, ranked, int(position)) for position in ranked.order() if int(ranked.rows[position]) in wanted
    ]
    rejected = [
        answers.ScoredCandidate(candidate_at(cycle, row), rejection=rejection_at(cycle, row, int(codes[row])))
        for row in sorted(wanted)
        if codes[row]
    ]
    return feasible + rejected


def _scored(cycle: Cycle, ranked: Ranked, position: int) -> answers.ScoredCandidate:
    row = int(ranked.rows[position])
    scores = [
        answers.PluginScore(plugin.NAME, raw, int(normalized[position]), weight)
        for (plugin, weight), raw, normalized in zip(
            cycle.profile.scores, cycle.raw(row), ranked.normalized, strict=True
        )
    ]
    return answers.ScoredCandidate(candidate_at(cycle, row), int(ranked.total[position]), scores)
