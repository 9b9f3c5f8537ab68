"""Notes on trainings that did not come to an end; without torch, for tables and figures."""

UNFINISHED = "its training has not converged"
"""The beginning of the note on a training that did not converge."""

STUCK = "its training had no effect: the loss stayed at that of its first batch"
"""The note on a training without effect."""
