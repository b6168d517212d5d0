"""Measurements of what users wait for, as cases with limits. They are not tests: no test asserts a time.

Machines drift by a factor of two within an hour, so a limit is a ratio to something measured in the same run: another
case, or the yardstick (a fixed piece of Python and numpy work).
"""
