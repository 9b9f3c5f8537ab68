"""Learners that hold parameters by a quadratic penalty."""
