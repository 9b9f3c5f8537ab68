"""Analysis of stored counts: intervals, the quantities of a layer, and its diagnostics.

`crossed` has the design, seeds times test examples, and its variance; `intervals` those of means
and ratios; `starting` the layer where forgetting starts; `layers` what was retained, forgotten
and never learned. `similarity` and `units`
look at the values of features.
"""
