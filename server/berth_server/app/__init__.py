"""The composition root: the only place that wires objects, and the only importer of the Kubernetes edge."""
