"""Cutting a model at a feature into a prefix and a tail: the first idea."""
