"""Learners of Kemker 2018 with a network of their own."""
