"""Logs and metrics of the server. Any layer may import this; it imports nothing of ours."""
