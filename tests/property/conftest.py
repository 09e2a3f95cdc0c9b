"""Hypothesis, set for busy machines: no time limit per example, the same examples each run."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("busy", deadline=None, derandomize=True, max_examples=100)
settings.load_profile("busy")
