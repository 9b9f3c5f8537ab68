"""Learners that are taught by the model as it was before the task."""
