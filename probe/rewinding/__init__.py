"""Rewinding: what the change of each layer did to an earlier task.

`blocks` divides a network at its features and puts blocks of an earlier network back,
with the plain `attributes` of their modules. `hybrids` tests sets of them, and
`shapley` divides what returns among the blocks. `correspondence` compares units, and
`pairs` decides whether anything can be said of two networks. `estimates` adds intervals
and `verdicts`; `causes` does all for networks in memory. Nothing is trained, and no
readout is needed.
"""
