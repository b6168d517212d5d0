"""Requests of InspectionService to what is asked. Raises PlacementError INVALID_FIELD with all violations."""

from typing import Final, NamedTuple

from berth.v1 import inspection_service_pb2 as pb
from berth_server.rpc.codec import fields, parts
from berth_server.rpc.codec.violations import Violations

DEFAULT_ROWS: Final = 100


class RunsPage(NamedTuple):
    """What `Inspection.list_runs` is asked for."""

    namespace: str
    phases: tuple[str, ...]
    page_size: int
    page_token: str


class CandidatesPage(NamedTuple):
    """What `Inspection.list_candidates` is asked for."""

    namespace: str
    runtime: str
    page_size: int
    page_token: str


class NamespacePage(NamedTuple):
    """What `Inspection.list_reservations` and `Inspection.list_pending` are asked for."""

    namespace: str
    page_size: int
    page_token: str


def runs_page(request: pb.ListRunsRequest) -> RunsPage:
    """Decode a ListRuns. Phases are not checked against a list: a newer CRD may have more."""
    check = Violations()
    page = RunsPage(
        namespace=parts.namespace_of(request.namespace, "namespace", check),
        phases=parts.names(request.phases, "phases", check),
        page_size=fields.row_count(request.page_size, "page_size", check, default=DEFAULT_ROWS),
        page_token=parts.page_token(request.page_token, check),
    )
    return check.passed(page)


def candidates_page(request: pb.ListCandidatesRequest) -> CandidatesPage:
    """Decode a ListCandidates."""
    check = Violations()
    page = CandidatesPage(
        namespace=parts.namespace_of(request.namespace, "namespace", check),
        runtime=fields.bounded(request.runtime, "runtime", check),
        page_size=fields.row_count(request.page_size, "page_size", check, default=DEFAULT_ROWS),
        page_token=parts.page_token(request.page_token, check),
    )
    return check.passed(page)


def namespace_page(request: pb.ListReservationsRequest | pb.ListPendingRequest) -> NamespacePage:
    """Decode a ListReservations or a ListPending."""
    check = Violations()
    page = NamespacePage(
        namespace=parts.namespace_of(request.namespace, "namespace", check),
        page_size=fields.row_count(request.page_size, "page_size", check, default=DEFAULT_ROWS),
        page_token=parts.page_token(request.page_token, check),
    )
    return check.passed(page)
