"""Passes that decide which operators run together as one kernel."""
