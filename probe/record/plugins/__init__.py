"""A recorder in the loops of other frameworks, each of which is imported only where it is used.

`avalanche`, `lightning` and `transformers` each have a `ForgettingProbe`; `progress` is what they
share: which number of tasks has been learned.
"""
