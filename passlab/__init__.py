"""passlab: see, understand and fix compiler passes in a notebook.

This module only names the public interface; every name is loaded on first use.
"""
