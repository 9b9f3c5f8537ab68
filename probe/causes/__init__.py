"""Causes: whose change cost a network what it forgot.

`blocks` parts a network by its features, `hybrids` puts blocks of an earlier network back, and
`shapley` divides what returns among the blocks. Nothing is trained, and no readout is needed.
"""
