"""Analysis of stored counts: intervals, the quantities of a layer, and its diagnostics.

`variance` estimates variance over seeds and test examples; `intervals` computes
intervals of means and ratios; `layers` computes how much accuracy is missing, never
learned and forgotten; `statements` decides what these quantities show. `similarity` and
`units` examine feature values.
"""
