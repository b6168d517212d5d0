"""The command `berth-server`. Flags here say what they are for; what they mean is checked in `config`."""

import os
import signal
import sys
from types import FrameType
from typing import Any

import click


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="berth-scheduler")
def main() -> None:
    """Place Runs on warm Runtime Pods, and answer where anything would go and why."""


@main.command()
@click.option("--cluster", help="kubernetes (default), or a file or directory of manifests, or - for standard input.")
@click.option("--listen", multiple=True, help="host:port or unix:///path; repeatable (default 127.0.0.1:50051).")
@click.option("--metrics-listen", help="host:port of the metrics, or off (default 127.0.0.1:9464).")
@click.option("--driver", help="in-process (default) or off.")
@click.option("--role", help="scheduler (default) or reader.")
@click.option(
    "--as-of", help="Instant at which a cluster from files is judged, or now (default: its newest heartbeat)."
)
@click.option(
    "--play", is_flag=False, flag_value="true", help="Bring a cluster from files to life; Runs last 20s, or so long."
)
@click.option("--config", help="The configuration file.")
@click.option("--log-format", help="json or text (default: text on a terminal).")
@click.option("--reflection", help="true (default) or false: whether grpcurl can list services.")
@click.option("--kubeconfig", help="The kubeconfig file (default: KUBECONFIG, the Pod's own, ~/.kube/config).")
@click.option("--context", help="The context in it (default: its current one).")
@click.option("--events", help="on (default) or off: whether Kubernetes Events are written.")
@click.option("--traces", help="otlp or off (default): where spans go; otlp needs the extra otel.")
@click.option("--show", is_flag=True, default=None, help="Print where everything is once it is served.")
def serve(**flags: Any) -> None:
    """Serve until Ctrl-C."""
    _end_at_once_on_signals()
    # Imported late: gRPC and numpy take most of a second, in which Ctrl-C must be heard and --help need not wait.
    from berth_server.app.serve import serve as run_server  # noqa: PLC0415
    from berth_server.app.wiring import StartError  # noqa: PLC0415
    from berth_server.config.faults import ConfigError  # noqa: PLC0415
    from berth_server.config.settings import resolve  # noqa: PLC0415

    try:
        settings, config = resolve(flags, os.environ)
        run_server(settings, config)
    except (ConfigError, StartError) as error:
        for line in str(error).splitlines():
            click.echo(f"berth-server: {line}", err=True)
        sys.exit(1)


def _end_at_once_on_signals() -> None:
    """Until something is served there is nothing to end in order.

    The system ends us itself, so that no long read or import delays it. Only process 1, as we are in a container, it
    does not: there a handler is needed.
    """

    def end(number: int, _frame: FrameType | None) -> None:
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end if os.getpid() == 1 else signal.SIG_DFL)


if __name__ == "__main__":
    main()
