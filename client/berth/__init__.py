"""Berth: where a Run or a Pod would go, and why. Client SDK, command line and Workload API library."""
