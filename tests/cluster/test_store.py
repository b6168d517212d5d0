"""The contract of every store, on a real API server."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.cluster.api import WritableKubernetesStore, admin
from tests.cluster.processes import Cluster
from tests.contract.store_contract import StoreContract, Subject

pytestmark = pytest.mark.cluster


class TestContract(StoreContract):
    """The suite that the embedded store passes, too."""

    @pytest.fixture
    async def subject(self, shared_cluster: Cluster) -> AsyncIterator[Subject]:
        """A namespace of its own; history is forgotten by compaction and a restart, which empties the watch cache."""

        async def forget_history() -> None:
            shared_cluster.compact()
            shared_cluster.apiserver.kill()
            shared_cluster.apiserver.start()
            await asyncio.to_thread(shared_cluster.wait_ready)

        async with admin(shared_cluster) as api:
            store = WritableKubernetesStore(api.connection)
            yield Subject(store, await api.new_namespace(), forget_history)
