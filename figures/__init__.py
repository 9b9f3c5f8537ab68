"""Figures: they draw the tables of a study and compute nothing."""

FORMATS = ("png", "svg")
"""The formats in which every figure is written."""
