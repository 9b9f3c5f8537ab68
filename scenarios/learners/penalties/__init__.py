"""Learners with a quadratic penalty on the parameters."""
