"""Training and evaluation of networks.

`recipe` configures one training, and `loop` runs it, for learners, tails and probes
alike. `fresh_weights` initializes networks, `evaluation` predicts with them, and
`costs` counts operations and bytes.
"""
