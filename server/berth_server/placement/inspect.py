"""Lists of what is believed, for people. Changes nothing but the passing of time."""

from collections.abc import Callable, Iterable
from datetime import datetime
from importlib.metadata import version as version_of
from typing import TypeVar

from berth_server.framework.profile import Profile
from berth_server.objects.item import Item
from berth_server.objects.quantity import MAX_UNITS
from berth_server.placement import answers, paging
from berth_server.placement.core import Core
from berth_server.placement.described import reservation_info
from berth_server.placement.ingest import KINDS
from berth_server.placement.questions import CandidateRef
from berth_server.placement.translate import instant
from berth_server.placement.work import Work
from berth_server.plugins.runtime_pod_availability import RuntimePodAvailability
from berth_server.state.candidate import Candidate
from berth_server.state.reservations import State

T = TypeVar("T")
R = TypeVar("R")
_REASONS = ("", *RuntimePodAvailability.REASONS)
"""By `Availability`, whose order is that of the filter's reasons."""


class Inspector:
    """Implements `ports.Inspection`."""

    def __init__(self, core: Core, work: Work, as_of: datetime | None) -> None:
        """`as_of`: where the clock of a cluster from files stands still."""
        self._core = core
        self._work = work
        self._as_of = as_of

    async def list_runs(
        self, *, namespace: str, phases: Iterable[str], page_size: int, page_token: str
    ) -> answers.Page[answers.RunSummary]:
        """See ports.Inspection."""
        wanted = {phase or "Pending" for phase in phases}
        items = [
            item
            for item in self._core.state.items.values()
            if (not namespace or item.namespace == namespace) and (not wanted or (item.phase or "Pending") in wanted)
        ]
        return _page(items, _by_name, self._run, page_size, page_token, f"runs/{namespace}/{sorted(wanted)}")

    async def list_candidates(
        self, *, namespace: str, runtime: str, page_size: int, page_token: str
    ) -> answers.Page[answers.CandidateSummary]:
        """See ports.Inspection."""
        self._core.reader.let_time_pass()
        candidates = [
            candidate
            for candidate in self._core.state.candidates.values()
            if (not namespace or candidate.namespace == namespace)
            and (not runtime or candidate.pool.runtime == runtime)
        ]
        scope = f"candidates/{namespace}/{runtime}"
        return _page(candidates, _by_name, self._candidate, page_size, page_token, scope)

    async def list_reservations(
        self, *, namespace: str, page_size: int, page_token: str
    ) -> answers.Page[answers.ReservationInfo]:
        """See ports.Inspection."""
        self._core.reader.lead()
        self._core.reader.let_time_pass()
        held = [each for each in self._core.reservations if not namespace or each.item.namespace == namespace]
        return _page(
            held,
            lambda each: f"{each.created_at:020d}/{each.id}",
            lambda each: reservation_info(self._core, each),
            page_size,
            page_token,
            f"reservations/{namespace}",
        )

    async def list_pending(
        self, *, namespace: str, page_size: int, page_token: str
    ) -> answers.Page[answers.PendingItem]:
        """See ports.Inspection."""
        self._core.reader.lead()
        rows = [row for row in self._core.queue.rows() if not namespace or row.key.namespace == namespace]
        numbers = [f"{number:09d}" for number in range(len(rows))]
        found, following = paging.page(numbers, page_size, page_token, f"pending/{namespace}")
        return answers.Page([self._work.shown(rows[number]) for number in found], following)

    async def server_info(self) -> answers.ServerInfo:
        """See ports.Inspection."""
        core = self._core
        core.reader.let_time_pass()
        views = [
            answers.ViewInfo(kind, len(view.held), view.version, core.ingest.age(kind), view.undecodable)
            for kind, view in core.ingest.views.items()
            if kind in KINDS
        ]
        identity = core.reader.identity
        return answers.ServerInfo(
            version=version_of("berth-scheduler"),
            instance=identity.instance,
            leader=identity.leader,
            synced=core.ingest.synced,
            generation=core.state.generation,
            views=views,
            profiles=[_profile(engine.profile) for engine in core.reader.engines.values()],
            counts=self._counts(),
            brake=core.brakes.reason(),
            as_of=self._as_of,
        )

    def _counts(self) -> dict[str, int]:
        core = self._core
        state = core.state
        by_state = dict.fromkeys((f"reservations_{each.value.lower()}" for each in State), 0)
        for reservation in core.reservations:
            by_state[f"reservations_{reservation.state.value.lower()}"] += 1
        return {
            "candidates": len(state.candidates),
            "runs": len(state.items),
            "overcommitted_candidates": sum(1 for _ in state.overcommitted()),
            "uncompiled_terms": sum(
                item.spec.uncompiled_anti
                for item in state.items.values()
                if item.spec.uncompiled_anti and state.occupancy.where(item.uid)
            ),
            **by_state,
            **{f"pending_{name}": count for name, count in self._work.counts().items()},
        }

    def _run(self, item: Item) -> answers.RunSummary:
        assigned = CandidateRef(item.assigned_name, item.assigned_uid) if item.holds_capacity else None
        return answers.RunSummary(
            namespace=item.namespace,
            name=item.name,
            uid=item.uid,
            version=item.version,
            runtime=item.spec.runtime,
            phase=item.phase or "Pending",
            assigned=assigned,
            requests=dict(item.spec.requests),
            attempt=item.attempt,
            created_at=instant(item.arrival) if item.arrival else None,
            message=item.message,
            fault="" if item.spec.fault is None else str(item.spec.fault.reason),
        )

    def _candidate(self, candidate: Candidate) -> answers.CandidateSummary:
        state = self._core.state
        use = state.occupancy.ledger.use(candidate.uid)
        capacity = candidate.capacity or {}
        return answers.CandidateSummary(
            namespace=candidate.namespace,
            candidate=CandidateRef(candidate.name, candidate.uid),
            runtime=candidate.pool.runtime,
            reason=_REASONS[state.availability(candidate)],
            resources={name: (amount, min(use.get(name, 0), MAX_UNITS)) for name, amount in sorted(capacity.items())},
            node=candidate.node,
            overcommitted=any(use.get(name, 0) > amount for name, amount in capacity.items()),
        )


def _by_name(thing: Item | Candidate) -> str:
    return f"{thing.namespace}/{thing.name}"


def _page(
    things: Iterable[T], key: Callable[[T], str], show: Callable[[T], R], size: int, token: str, scope: str
) -> answers.Page[R]:
    ordered = sorted(things, key=key)
    rows, following = paging.page([key(thing) for thing in ordered], size, token, scope)
    return answers.Page([show(ordered[row]) for row in rows], following)


def _profile(profile: Profile) -> answers.ProfileInfo:
    weights = {plugin.NAME: weight for plugin, weight in profile.scores}
    return answers.ProfileInfo(
        profile.name,
        [
            answers.PluginInfo(name, weights.get(name, 0), {key: str(value) for key, value in given.items()})
            for name, given in profile.arguments.items()
        ],
    )
