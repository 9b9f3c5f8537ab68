"""Learners of Kemker 2018 with networks of their own."""
