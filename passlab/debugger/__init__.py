"""Traces of runs, the debugger that steps through them forwards and backwards, and forks with changed values."""
