"""Differences of programs: structural matching, edits, and the text of both."""
