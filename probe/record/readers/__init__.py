"""Runs of other frameworks, read from their files without running any code."""
