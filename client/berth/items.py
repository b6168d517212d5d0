"""What is to be placed, in the forms in which callers have it."""

from collections.abc import Mapping
from typing import Any

from berth.v1 import resources_pb2 as pb

ItemLike = str | Mapping[str, Any] | pb.Item


def run(name: str, *, namespace: str = "", uid: str = "", min_resource_version: str = "") -> pb.Item:
    """Name a Run of the cluster. An empty namespace is `default`.

    `uid` is required where something changes, so that a Run recreated under the same name is not taken for this one.
    `min_resource_version`: wait until the server has seen the Run at least at this version (to read one's own write).
    """
    key = pb.ObjectKey(namespace=namespace, name=name, uid=uid, min_resource_version=min_resource_version)
    return pb.Item(run=key)


def manifest(content: Mapping[str, Any]) -> pb.Item:
    """Describe a Run that does not exist, as kubectl would take it, for reads and dry runs.

    Numbers are doubles on the wire: write integers from 2^53 up as strings. Raises ValueError for what JSON can't hold.
    """
    item = pb.Item()
    try:
        item.manifest.update(content)
    except OverflowError as error:
        raise ValueError("a number in the manifest is too large; write it as a string") from error
    return item


def to_item(item: ItemLike) -> pb.Item:
    """Take `name`, `namespace/name`, a manifest, or a ready Item."""
    if isinstance(item, pb.Item):
        return item
    if isinstance(item, str):
        namespace, _, name = item.rpartition("/")
        return run(name, namespace=namespace)
    return manifest(item)
