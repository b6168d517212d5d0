"""Answers of the inspection to responses."""

from typing import Final

from berth.v1 import inspection_service_pb2 as inspection_pb
from berth.v1 import resources_pb2 as pb
from berth_server.placement import answers
from berth_server.rpc.codec.encode import put_candidate
from berth_server.rpc.codec.times import put_instant, put_span

_MAX_AMOUNT: Final = 2**62  # capacity and use saturate here


def runs_response(page: answers.Page[answers.RunSummary]) -> inspection_pb.ListRunsResponse:
    """Encode a page of Runs. A key carries the version seen, ready to be asked for again."""
    response = inspection_pb.ListRunsResponse(next_page_token=page.next_page_token)
    for run in page.rows:
        into = response.runs.add(
            runtime=run.runtime,
            phase=run.phase,
            requests=run.requests,
            attempt=run.attempt,
            message=run.message,
            fault=run.fault,
        )
        _put_key(into.key, run)
        if run.assigned is not None:
            put_candidate(into.assigned, run.assigned)
        if run.created_at is not None:
            put_instant(into.created_at, run.created_at)
    return response


def candidates_response(page: answers.Page[answers.CandidateSummary]) -> inspection_pb.ListCandidatesResponse:
    """Encode a page of Runtime Pods."""
    response = inspection_pb.ListCandidatesResponse(next_page_token=page.next_page_token)
    for row in page.rows:
        into = response.candidates.add(
            namespace=row.namespace,
            runtime=row.runtime,
            available=not row.reason,
            reason=row.reason,
            node=row.node,
            overcommitted=row.overcommitted,
        )
        put_candidate(into.candidate, row.candidate)
        for name, (capacity, used) in row.resources.items():
            amount = into.resources[name]
            amount.capacity = min(capacity, _MAX_AMOUNT)
            amount.used = min(used, _MAX_AMOUNT)
    return response


def server_info_response(info: answers.ServerInfo) -> inspection_pb.GetServerInfoResponse:
    """Encode who answers and what it knows."""
    response = inspection_pb.GetServerInfoResponse(
        version=info.version,
        instance=info.instance,
        leader=info.leader,
        synced=info.synced,
        generation=info.generation,
        counts=info.counts,
        brake=info.brake,
    )
    for view in info.views:
        row = response.views.add(
            kind=view.kind, objects=view.objects, resource_version=str(view.version), undecodable=view.undecodable
        )
        row.age.SetInParent()
        put_span(row.age, view.age)
    for profile in info.profiles:
        plugins = response.profiles.add(name=profile.name).plugins
        for plugin in profile.plugins:
            plugins.add(name=plugin.name, weight=plugin.weight, arguments=plugin.arguments)
    if info.as_of is not None:
        put_instant(response.as_of, info.as_of)
    return response


def _put_key(into: pb.ObjectKey, run: answers.RunSummary) -> None:
    into.namespace = run.namespace
    into.name = run.name
    into.uid = run.uid
    into.min_resource_version = str(run.version)
