"""Passes about a program as a whole: its types, spans, text, batch and weights."""
