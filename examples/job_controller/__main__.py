"""Run the controller against an API server: `python -m examples.job_controller --help`."""

import argparse
import logging
import time
from collections.abc import Sequence
from pathlib import Path

from berth.workload import DecodeError, ObjectMeta, PriorityClass, PriorityClasses, Workload, read_part
from berth.workload.builder import BuilderError
from examples.job_controller.client import ApiError
from examples.job_controller.controller import Controller, NotReadyError
from examples.job_controller.groups import create_groups
from examples.job_controller.http_client import HttpClient
from examples.job_controller.job import read_job
from examples.job_controller.validation import validate_job

LOG = logging.getLogger("job_controller")
JOBS = "/apis/training.example.com/v1/namespaces/{}/trainingjobs"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def main(argv: Sequence[str] | None = None) -> None:
    """Do what a command line says, by default this process's."""
    parser = argparse.ArgumentParser(prog="python -m examples.job_controller", description=__doc__)
    parser.add_argument("--server", required=True, help="URL of the API server; `kubectl proxy` serves one on loopback")
    parser.add_argument("--token-file", type=Path, help="a file with a bearer token")
    parser.add_argument("--ca", help="certificate of the server's authority")
    parser.add_argument("--namespace", default="default")
    verbs = parser.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("run", help="make the groups and Pods of all TrainingJobs of the namespace")
    run.add_argument("--every", type=float, help="seconds between passes; without it there is one pass")
    groups = verbs.add_parser("groups", help="make the groups of a Workload that exists, such as a hand-written one")
    groups.add_argument("workload", help="its name")
    groups.add_argument("--prefix", help="of the groups' names; by default the name of the Workload")
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    token = args.token_file.read_text(encoding="utf-8").strip() if args.token_file else ""
    client = HttpClient(url=args.server, token=token, ca_file=args.ca)
    if args.verb == "groups":
        for group in create_groups(
            client, client.get(Workload, args.namespace, args.workload), args.prefix or args.workload
        ):
            print(f"{type(group).__name__}/{group.metadata.name}")
        return
    one_pass(client, args.namespace)
    while args.every:
        time.sleep(args.every)
        one_pass(client, args.namespace)


def one_pass(client: HttpClient, namespace: str) -> None:
    """Reconcile every job of a namespace. What goes wrong with one is logged, and the next pass tries it again."""
    controller = Controller(client, _classes(client))
    for body in client.request("GET", JOBS.format(namespace))["items"]:
        name = read_part(ObjectMeta, body["metadata"]).name
        try:
            job = read_job({"apiVersion": "training.example.com/v1", "kind": "TrainingJob", **body})
            faults = validate_job(job)
            for fault in faults:
                LOG.error("job %s/%s: %s", namespace, name, fault)
            if not faults:
                controller.reconcile(job)
        except (ApiError, BuilderError, DecodeError, NotReadyError) as error:
            LOG.error("job %s/%s: %s", namespace, name, error)  # noqa: TRY400 - expected, so without a traceback


def _classes(client: HttpClient) -> PriorityClasses:
    return PriorityClasses(read_part(PriorityClass, item) for item in client.request("GET", CLASSES)["items"])


if __name__ == "__main__":
    main()
