"""Learners with a memory of their own: replay and gradient projection."""
