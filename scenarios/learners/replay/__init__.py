"""Learners with a memory: replay and gradient projection."""
