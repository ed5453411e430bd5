"""Runs as data: traces, the debugger that moves in them, where values came from, and forks of the past."""
