"""The example controller on a real API server, over its own HTTP client."""

import pytest

from examples.job_controller.http_client import HttpClient
from tests.cluster.processes import Cluster
from tests.contract.controller_contract import ControllerContract, Place

pytestmark = pytest.mark.cluster


class TestOnACluster(ControllerContract):
    """The suite that the API server in memory passes, too."""

    @pytest.fixture
    def place(self, shared_cluster: Cluster) -> Place:
        """A namespace of its own, and a client that trusts the server by its certificate."""
        token, ca_file = shared_cluster.tokens["admin"], str(shared_cluster.certificate)
        client = HttpClient(url=shared_cluster.url, token=token, ca_file=ca_file)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "controller-"}}
        return Place(client, client.request("POST", "/api/v1/namespaces", namespace)["metadata"]["name"])
