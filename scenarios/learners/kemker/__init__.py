"""Learners of Kemker 2018 that bring their network."""
