"""Recorders for the loops of other frameworks; each framework is imported only where it is used.

`avalanche`, `lightning` and `transformers` each have a `ForgettingProbe`;
`task_counter` counts the tasks learned for all of them.
"""
