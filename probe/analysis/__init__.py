"""Analysis of which test examples were right: a layer's quantities, with intervals.

`task_positions` selects the test examples of a task position; `quantities` computes how
much accuracy is missing, never learned and forgotten there; `variance` estimates
variance over seeds and test examples; `intervals` computes intervals of means and
ratios; `statements` decides what the quantities show. `similarity` and `units` examine
feature values.
"""
