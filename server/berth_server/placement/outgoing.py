"""What a write on an item starts from."""

from berth_server.objects.item import Item
from berth_server.objects.resources import Run
from berth_server.placement.ports import ObjectRef, Outgoing


def outgoing(item: Item) -> Outgoing:
    """Return the item's reference, version and conditions as last observed."""
    return Outgoing(ObjectRef(Run.kind, item.namespace, item.name, item.uid), item.version, item.conditions)
