"""Who is next: which pending item is tried now, which later, and what must happen first.

Pure: no I/O, no clock, no randomness of its own. Time comes in as monotonic seconds, jitter as a function. Nothing here
knows why an item is unschedulable; reasons are words, and a table says which events can cure them.
"""
