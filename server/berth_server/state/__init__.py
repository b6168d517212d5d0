"""What Berth believes of the cluster, kept up to date event by event.

The ledger (use per candidate UID) is the truth; the pools' columns are its projection. A rebuild from the objects gives
the same state, whatever the order of events. No I/O, no clock: time comes in as arguments.
"""
