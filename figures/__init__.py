"""Figures: they draw tables and compute nothing."""
