"""Berth: where a Run or a Pod would go, and why. Client SDK, command line and Workload API library."""

from berth.client import Client
from berth.errors import BerthError, FieldViolation
from berth.items import manifest, run

__all__ = ["BerthError", "Client", "FieldViolation", "manifest", "run"]
