"""Recordings of pipelines, and what follows from one alone: provenance, rewrites, comparison, validation, files."""
