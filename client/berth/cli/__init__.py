"""The `berth` command: one verb a module. It talks to a server through the SDK and never imports the server."""

import click

from berth.cli.workload import workload


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="berth-scheduler")
def main() -> None:
    """Ask where Runs and Pods would go, why they wait, and check group manifests."""


main.add_command(workload)
