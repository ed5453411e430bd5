"""Mutants that no test can catch, because passlab does the same with them: each by its key, with the reason."""

EQUIVALENT: dict[str, str] = {}
