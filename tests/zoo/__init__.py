"""Models that nobody here made: what is tried on each, and the table that the manual shows."""
