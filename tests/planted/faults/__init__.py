"""Faults by the package they are planted in."""
