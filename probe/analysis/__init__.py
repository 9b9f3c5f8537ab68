"""Analysis of stored counts: intervals, the quantities of a layer, and its diagnostics.

`variance` has the design, seeds times test examples, and its variance; `intervals` those of means
and ratios; `layers` what is missing, never learned and forgotten; `statements` what that shows.
`similarity` and `units` look at the values of features.
"""
