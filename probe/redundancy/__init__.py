"""Redundancy of input features: bins, symmetric uncertainty, FCBF, and their table."""
