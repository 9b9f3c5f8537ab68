"""Rewinding: whose change cost a network what it forgot.

`blocks` parts a network by its features, `hybrids` puts blocks of an earlier network back,
`shapley` divides what returns among the blocks, `causes` does all for networks in memory. Nothing
is trained, and no readout is needed.
"""
