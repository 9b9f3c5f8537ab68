"""Continual learners, one module each (or per close family)."""
