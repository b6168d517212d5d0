"""What the parts of the service share. Wired once by the composition root; has no behaviour of its own."""

from dataclasses import dataclass, field

from berth_server.objects.clock import Clock
from berth_server.observability.metrics import Metrics
from berth_server.observability.tracing import NoTracer, Tracer
from berth_server.placement.attempts import Attempts
from berth_server.placement.brakes import Brakes
from berth_server.placement.ingest import Ingest, Log
from berth_server.placement.ports import NoEvents, Recorder, Store, Writer
from berth_server.placement.read import Reader
from berth_server.queue.pending import PendingQueue
from berth_server.state.cluster import ClusterState
from berth_server.state.reservations import Reservations


@dataclass(frozen=True, slots=True)
class Core:
    """The state, what reads and writes it, and what watches over them."""

    state: ClusterState
    ingest: Ingest
    reader: Reader
    reservations: Reservations
    store: Store
    writer: Writer
    clock: Clock
    metrics: Metrics
    log: Log
    queue: PendingQueue
    brakes: Brakes
    attempts: Attempts = field(default_factory=Attempts)
    recorder: Recorder = field(default_factory=NoEvents)
    tracer: Tracer = field(default_factory=NoTracer)
