"""Recordings of training loops: networks after each task, accuracies, and readers of these.

`checkpoints` finds files of networks by a pattern, `state_files` loads one of them without running
any code of it, `recorder` writes them from within a loop, `recording` reads its folder, and
`plugins` hold a recorder for the loops of other frameworks.
"""
