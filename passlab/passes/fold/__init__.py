"""Passes that compute now what need not wait for the run."""
