"""Training and evaluation of networks.

`recipe` configures one training, `loop` runs it, for learners, tails and probes alike;
`fresh_weights` initializes, `evaluation` predicts, `costs` counts operations and bytes.
"""
