"""The contracts that plugins fulfil, and the engine that runs a cycle of them. No I/O, no clock, no state of its own.

An item is judged on a whole pool at once: a plugin returns one value per row. The meaning stays "one candidate at a
time, the first rejection stops".
"""
