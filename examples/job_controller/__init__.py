"""A controller of jobs that are scheduled as groups: how to use `berth.workload.builder` from end to end.

It is an example to read and to copy from, not a product: it polls instead of watching, creates Pods and never deletes
any, and writes no status. What it does with Workloads and groups is complete.
"""
