"""Faults planted into passlab on purpose, and the search that has to name each of them."""
