"""How networks are trained and evaluated.

`recipe` says how one training runs, `loop` runs it, for learners, tails and probes alike;
`fresh_weights` initializes, `evaluation` counts predictions, `costs` counts what learning takes.
"""
