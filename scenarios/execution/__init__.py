"""Execution: the jobs of a study in this process, in several, or on a cluster."""
