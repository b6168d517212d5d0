"""Groups from a Workload, in the order that works: parents before children, so that no child waits for its parent.

`create_groups` is the whole of what a Workload without a controller needs, such as one that a user wrote by hand.
"""

import logging
from typing import TypeAlias

from berth.workload import CompositePodGroup, CompositePodGroupTemplate, PodGroup, Workload
from berth.workload.builder import Builder, BuildOptions, TemplatePlace, walk_templates
from examples.job_controller.client import Client, NotFound

LOG = logging.getLogger(__name__)

Group: TypeAlias = PodGroup | CompositePodGroup


def kind_of(place: TemplatePlace) -> type[Group]:
    """The kind of group that a template gives."""
    return CompositePodGroup if isinstance(place.template, CompositePodGroupTemplate) else PodGroup


def new_group(builder: Builder, place: TemplatePlace, name: str, parent: str | None) -> Group:
    """The group of a template, ready to create."""
    if kind_of(place) is CompositePodGroup:
        return builder.new_composite_pod_group(name, place.template.name, parent=parent)
    return builder.new_pod_group(name, place.template.name, parent=parent)


def create_groups(client: Client, workload: Workload, prefix: str, options: BuildOptions | None = None) -> list[Group]:
    """Create the groups `<prefix>-<template>` of a stored Workload. Those that exist are left as they are.

    So it can be called again after a failure. A template that changed since changes no group that exists; the next
    prefix gets it.

    Returns:
        All groups of the prefix as stored, parents first.

    Raises:
        ValueError: a name is taken by a group that is not of this template.
        ApiError: the API server refused a group; those before it are there.
    """
    builder = Builder.from_existing_workload(workload, options)
    groups: list[Group] = []
    for place in walk_templates(workload):
        parent = None if place.parent is None else f"{prefix}-{place.parent}"
        group = new_group(builder, place, f"{prefix}-{place.template.name}", parent)
        groups.append(_created_or_found(client, group))
    return groups


def _created_or_found(client: Client, group: Group) -> Group:
    meta = group.metadata
    try:
        found = client.get(type(group), meta.namespace, meta.name)
    except NotFound:
        LOG.info("creating %s %s/%s", type(group).__name__, meta.namespace, meta.name)
        return client.create(group)
    if found.spec.workload_ref != group.spec.workload_ref:
        raise ValueError(f"{type(group).__name__} {meta.namespace}/{meta.name} exists, and is of another template")
    return found
