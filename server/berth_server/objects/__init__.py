"""Plain values of what Berth reads from Kubernetes. Pure: nothing here does I/O or imports another layer."""
