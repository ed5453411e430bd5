"""The rules by which operators take data in other layouts: each, wherever a declaration names one, keeps the numbers."""

from __future__ import annotations


