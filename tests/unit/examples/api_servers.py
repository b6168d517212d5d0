"""Where a test of the example runs: in memory, and on a real API server where one is named."""

import os
from dataclasses import dataclass

from examples.job_controller.client import Client
from examples.job_controller.http_client import HttpClient
from tests.fakes.api_server import FakeApiServer

VARIABLE = "BERTH_TEST_APISERVER"


@dataclass(frozen=True)
class Place:
    """An API server and an empty namespace in it."""

    client: Client
    namespace: str


def in_memory() -> Place:
    """A new API server."""
    return Place(FakeApiServer(), "ml")


def on_a_real_one() -> Place:
    """A new namespace of the API server that the variable names; it is left behind."""
    url, token, ca_file = os.environ[VARIABLE].split(",")
    client = HttpClient(url=url, token=token, ca_file=ca_file)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "berth-example-"}}
    return Place(client, client.request("POST", "/api/v1/namespaces", namespace)["metadata"]["name"])
