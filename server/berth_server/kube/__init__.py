"""The edge to Kubernetes: real or embedded stores, manifests, play. Only the composition root imports it."""
